"""The account and a story as HTML."""

import pytest

from fairlead.core.console_views import MessageLine, MessagePage
from fairlead.core.replies import Step, Story
from fairlead.core.views import Counts
from fairlead.render.console.why import story_page, why_page
from tests.render.console.test_now import EVIL, NOW


def counts(received: int) -> Counts:
    settled = {"answered": 3, "failed": 1, "cancelled": 0, "unknown": 0, "withdrawn": 0, "refused": 1, "skipped": 0}
    live = {"queued": 0, "running": 1, "waiting": 0}
    return Counts(
        seq=9,
        received=received,
        settled=settled,
        live_jobs=live,
        queued={},
        sessions=1,
        open_questions=0,
        outbox_entries=0,
        cost_usd=0.0,
    )


@pytest.mark.req("G6")
def test_the_account_says_whether_it_fits():
    assert "no message is unaccounted for" in why_page(counts(6), None, "en", NOW)
    assert "add up to 6" in why_page(counts(7), None, "en", NOW)
    assert "<table" not in why_page(None, None, "en", NOW), "a guest is told of no numbers of others"


@pytest.mark.req("G6", "G3")
def test_a_story_tells_each_step_with_its_time_and_what_is_quoted_in_it_is_text():
    steps = (
        Step(1, "2026-11-18T03:00:00.000Z", "JobEnqueued", EVIL),
        Step(2, "2026-11-18T03:00:00.250Z", "JobStarted", "started"),
        Step(3, "2026-11-18T03:00:05.250Z", "JobCompleted", "done"),
    )
    html = story_page(Story("job_20261118_0001", steps), "agent:x", "en", NOW)
    assert [word for word in ("+250 ms", "+5.0 s", "JobCompleted 3") if word not in html] == []
    assert "<script>" not in html
    page = MessagePage(outcome="refused", lines=(MessageLine(message_id=EVIL, detail="E_EMPTY_MESSAGE"),), counted=5)
    listed = why_page(counts(6), page, "en", NOW)
    assert "<script>" not in listed
    assert "4 more are counted" in listed
