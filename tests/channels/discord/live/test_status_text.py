"""The text of a status message: it fits, and every state of a job has words in every language."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.channels.discord.live.status_text import newest_part, status_text
from fairlead.channels.push.job_status import StatusContent
from fairlead.core.job_states import JobState
from fairlead.render.live_text import LiveTextView
from fairlead.render.words import CATALOGUES, MISSING

pytestmark = pytest.mark.anyio


@given(st.text(max_size=6000), st.text(max_size=100))
def test_a_status_message_always_fits(text: str, activity: str) -> None:
    live_text = LiveTextView(text=text, activity=activity, tool_line="🔧 Bash …")
    content = StatusContent("job_20260101_0001", "running", live_text)
    assert len(status_text(content, 12.0, "en")) <= 2000
    assert newest_part("short") == "short"


@pytest.mark.parametrize("lang", CATALOGUES)
def test_every_state_of_a_job_can_be_told(lang: str) -> None:
    told = [status_text(StatusContent("job_20260105_0001", state), 3.0, lang) for state in get_args(JobState)]
    assert len(set(told)) == len(told)
    assert not any(MISSING in text for text in told)
