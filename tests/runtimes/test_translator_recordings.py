"""What every translator makes of the recordings: codes of failures, recoveries, thinking."""

import pytest

from fairlead.core.engine import (
    ThinkingDelta,
    TurnEnded,
    TurnFailed,
)
from fairlead.errors import Code
from fairlead.runtimes.claude.translate import ClaudeTranslator
from fairlead.runtimes.codex.translate import CodexTranslator
from fairlead.runtimes.gemini.translate import StreamTranslator
from fairlead.runtimes.translator import Translator
from tests.runtimes.recordings import translated, translator_for

pytestmark = pytest.mark.req("A10", "E1")


@pytest.mark.parametrize(
    ("transcript", "code", "transient"),
    [
        ("claude/02d-resume-bad-uuid", Code.E_RESUME_GONE, False),
        ("claude/02h-session-id-reuse", Code.E_CLI_EXIT_NONZERO, False),
        ("claude/05-err429-maxretries1", Code.E_AGENT_ERROR, True),
        ("claude/05-err401", Code.E_CLI_NOT_LOGGED_IN, False),
        ("claude/05-unknown-model", Code.E_MODEL_UNAVAILABLE, False),
        ("claude/06a-max-budget-tiny", Code.E_BUDGET_SPENT, False),
        ("claude/06h-dash-prompt", Code.E_CLI_EXIT_NONZERO, False),
        ("codex/01b-not-in-git", Code.E_CLI_EXIT_NONZERO, False),
        ("codex/02c-resume-bad-uuid", Code.E_RESUME_GONE, False),
        ("codex/05-err401", Code.E_CLI_NOT_LOGGED_IN, False),
        ("codex/05-err429", Code.E_AGENT_ERROR, True),
        ("codex/05-hang-idle-timeout3s", Code.E_AGENT_ERROR, True),
        ("codex/05-unknown-model", Code.E_MODEL_UNAVAILABLE, False),
        ("gemini/00-untrusted-dir", Code.E_CLI_EXIT_NONZERO, False),
        ("gemini/02c-resume-bad-uuid", Code.E_RESUME_GONE, False),
        ("gemini/05-err401", Code.E_CLI_NOT_LOGGED_IN, False),
        ("gemini/05-err429", Code.E_AGENT_ERROR, True),
        ("gemini/05-unknown-model", Code.E_MODEL_UNAVAILABLE, False),
    ],
)
@pytest.mark.req("A11", "A18")
def test_a_failure_gets_the_code_that_says_what_to_do(transcript: str, code: Code, *, transient: bool):
    events = translated(translator_for(transcript), transcript)
    ends = [event for event in events if isinstance(event, TurnFailed)]
    assert (ends[0].code, ends[0].transient) == (code, transient), ends[0]


@pytest.mark.parametrize(
    "transcript",
    [
        "claude/05-err529x2-recovers",
        "claude/06c-fallback-model-529",
        "claude/05-drop-mid-stream",
        "claude/03s-thinking",
        "codex/05-err500x1-recovers",
        "codex/03i-thinking",
        "gemini/05-err429x1-recovers",
    ],
)
def test_what_recovers_by_itself_is_a_success(transcript: str):
    events = translated(translator_for(transcript), transcript)
    assert isinstance(events[-1], TurnEnded)
    assert events[-1].text.startswith("ECHO")


@pytest.mark.req("A18")
@pytest.mark.parametrize(
    ("translator", "line"),
    [
        (ClaudeTranslator(), b'{"type":"assistant","message":42}'),
        (CodexTranslator(), b'{"type":"item.completed","item":"none"}'),
        (StreamTranslator(), b'{"type":"tool_use","tool_id":7}'),
    ],
)
def test_a_known_event_of_the_wrong_shape_fails_the_turn_and_shows_the_line(translator: Translator, line: bytes):
    *_, end = translator.feed(line)
    assert isinstance(end, TurnFailed)
    assert end.code is Code.E_ADAPTER_PARSE
    assert line.decode() in end.message


@pytest.mark.req("E1")
def test_thinking_is_told_apart_from_the_answer():
    for transcript in ("claude/03s-thinking", "codex/03i-thinking"):
        events = translated(translator_for(transcript), transcript)
        assert [event for event in events if isinstance(event, ThinkingDelta)]
