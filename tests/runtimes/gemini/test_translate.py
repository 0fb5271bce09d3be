"""What gemini printed, translated: whole values compared, from recordings of the real program."""

import pytest
from inline_snapshot import snapshot

from fairlead.core.engine import (
    Diagnostic,
    ModelsOffered,
    ResumeKeyFound,
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.runtimes.gemini.translate import JsonTranslator, StreamTranslator
from fairlead.runtimes.translator import Exit, Translator
from tests.runtimes.recordings import lines_of, translated

pytestmark = pytest.mark.req("A10", "E1")


@pytest.mark.req("A11")
def test_a_new_turn_of_gemini():
    assert translated(StreamTranslator(), "gemini/01-new-turn-stream-json") == snapshot(
        [
            ResumeKeyFound(key="19202924-0a8a-497b-a936-158ea372b020"),
            ModelsOffered(current="auto", models=()),
            TextDelta(text="ECHO users=1"),
            TextDelta(text=" images=0 to"),
            TextDelta(text="olresults=0 "),
            TextDelta(text="last=hi"),
            UsageReported(
                input_tokens=80, output_tokens=18, cached_tokens=8, cost_usd=0.0, context_used=0, context_size=0
            ),
            TurnEnded(text="ECHO users=1 images=0 toolresults=0 last=hi", stop_reason=""),
        ]
    )


@pytest.mark.req("A11")
def test_gemini_in_json_mode():
    assert translated(JsonTranslator(), "gemini/01b-new-turn-json") == snapshot(
        [
            ResumeKeyFound(key="7319ee70-c9af-4357-91ce-605b57cc37cf"),
            UsageReported(
                input_tokens=80, output_tokens=18, cached_tokens=8, cost_usd=0.0, context_used=0, context_size=0
            ),
            TurnEnded(text="ECHO users=1 images=0 toolresults=0 last=hi", stop_reason=""),
        ]
    )


@pytest.mark.req("A11")
def test_a_tool_of_gemini_and_only_the_words_after_it_are_the_answer():
    events = translated(StreamTranslator(), "gemini/03b-tool-yolo")
    tools = [event for event in events if isinstance(event, ToolStarted | ToolEnded)]
    assert tools == snapshot(
        [
            ToolStarted(
                tool_id="run_shell_command__run_shell_command_1794769026473_0",
                name="Bash",
                input={"command": "touch made-yolo && echo made", "description": "run a test command"},
            ),
            ToolEnded(tool_id="run_shell_command__run_shell_command_1794769026473_0", ok=True, summary="made"),
        ]
    )
    assert isinstance(events[-1], TurnEnded)
    assert events[-1].text.startswith("AFTERTOOL")


@pytest.mark.req("A11")
def test_an_exit_without_a_result_is_missing_its_result():
    translator = StreamTranslator()
    for line in lines_of("gemini/01-new-turn-stream-json")[:-1]:
        translator.feed(line)
    [end] = translator.finish(Exit(0))
    assert isinstance(end, TurnFailed)
    assert end.code is Code.E_ADAPTER_MISSING_RESULT
    assert end.text == "ECHO users=1 images=0 toolresults=0 last=hi"


@pytest.mark.req("A11")
@pytest.mark.parametrize("translator", [StreamTranslator(), JsonTranslator()])
def test_a_turn_that_never_named_its_session_fails(translator: Translator):
    translator.feed(b'{"type":"result","status":"success","response":"hi"}')
    [end] = translator.finish(Exit(0))
    assert isinstance(end, TurnFailed)
    assert end.code is Code.E_ADAPTER_SESSION_KEY_MISSING


@pytest.mark.req("A11")
def test_a_success_with_a_bad_exit_code_fails():
    translator = StreamTranslator()
    for line in lines_of("gemini/01-new-turn-stream-json"):
        translator.feed(line)
    [end] = translator.finish(Exit(1))
    assert isinstance(end, TurnFailed)
    assert end.code is Code.E_CLI_EXIT_NONZERO


@pytest.mark.req("A11")
def test_lines_that_are_no_json_are_kept_as_diagnostics():
    translator = StreamTranslator()
    assert translator.feed(b"Loaded cached credentials.") == [Diagnostic("Loaded cached credentials.")]
    assert translator.feed(b'{"type":"from-the-future","x":1}') == [Diagnostic('{"type":"from-the-future","x":1}')]


@pytest.mark.req("A11")
def test_a_success_without_a_word_and_with_a_warning_is_a_failure():
    translator = StreamTranslator()
    translator.feed(b'{"type":"init","session_id":"s"}')
    translator.feed(b'{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}')
    translator.feed(b'{"type":"result","status":"success"}')
    assert translator.finish(Exit(0)) == [TurnFailed(Code.E_AGENT_ERROR, "Loop detected, stopping execution")]
