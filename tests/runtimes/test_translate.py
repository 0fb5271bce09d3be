"""What the CLIs printed, translated: whole values compared, from recordings of the real programs."""

import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from fairlead.core.engine import (
    Diagnostic,
    EngineEvent,
    ModelsOffered,
    PermissionRequested,
    ResumeKeyFound,
    Suggestion,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.runtimes.claude.translate import ClaudeTranslator, TextTranslator
from fairlead.runtimes.codex import wire as codex_wire
from fairlead.runtimes.codex.translate import CodexTranslator
from fairlead.runtimes.gemini.translate import JsonTranslator, StreamTranslator
from fairlead.runtimes.translator import Exit, Translator
from tests.support.replaying_cli import TRANSCRIPTS

pytestmark = pytest.mark.req("A10", "E1")


def lines_of(transcript: str) -> list[bytes]:
    """What the CLI said, whether it was recorded one way or both."""
    stem = TRANSCRIPTS / transcript
    if (path := stem.with_name(f"{stem.name}.out")).exists():
        return path.read_bytes().splitlines()
    entries = [json.loads(line) for line in stem.with_name(f"{stem.name}.duplex.jsonl").read_text().splitlines()]
    return [json.dumps(entry["msg"]).encode() for entry in entries if entry["dir"] == "<"]


def exit_of(transcript: str) -> Exit:
    stem = TRANSCRIPTS / transcript
    stderr = stem.with_name(f"{stem.name}.err")
    code = stem.with_name(f"{stem.name}.rc").read_text().strip()
    return Exit(int(code), stderr.read_text() if stderr.exists() else "")


def translated(translator: Translator, transcript: str) -> list[EngineEvent]:
    events: list[EngineEvent] = []
    for line in lines_of(transcript):
        events += translator.feed(line)
    return [*events, *translator.finish(exit_of(transcript))]


def without(events: list[EngineEvent], *kinds: type[Any]) -> list[EngineEvent]:
    return [event for event in events if not isinstance(event, kinds)]


def said(events: list[EngineEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


# --- claude ---------------------------------------------------------------------------------------------------------


def test_a_new_turn_of_claude():
    assert translated(ClaudeTranslator(), "claude/01-new-turn") == snapshot(
        [
            ResumeKeyFound(key="2708260d-1bc6-4bdc-8258-7cadd8dd022b"),
            ModelsOffered(current="claude-opus-5-5", models=()),
            TextDelta(text="ECHO users=1 images=0 toolresults=0 last=hi"),
            UsageReported(
                input_tokens=2560,
                output_tokens=22,
                cached_tokens=11,
                cost_usd=0.0106452,
                context_used=2560,
                context_size=1000000,
            ),
            TurnEnded(text="ECHO users=1 images=0 toolresults=0 last=hi", stop_reason="end_turn"),
        ]
    )


def test_a_tool_of_claude_is_allowed_and_ends():
    events = translated(ClaudeTranslator(), "claude/03c-tool-allowedTools")
    assert without(events, UsageReported, ModelsOffered) == snapshot(
        [
            ResumeKeyFound(key="542c65c3-8e4f-4b3e-963e-597b5151b749"),
            TextDelta(text="I will run a command."),
            ToolStarted(
                tool_id="toolu_757dcc2f032742deaafa",
                name="Bash",
                input={"command": "touch made-by-allowed; echo made-allowed", "description": "run a test command"},
            ),
            ToolEnded(tool_id="toolu_757dcc2f032742deaafa", ok=True, summary="made-allowed"),
            TextDelta(text="AFTERTOOL users=1 result=made-allowed"),
            TurnEnded(text="AFTERTOOL users=1 result=made-allowed", stop_reason="end_turn"),
        ]
    )


@pytest.mark.req("E5")
def test_deltas_and_the_whole_block_are_shown_once():
    events = translated(ClaudeTranslator(), "claude/04j-partial-messages")
    assert without(events, UsageReported, ModelsOffered, ResumeKeyFound, Diagnostic) == snapshot(
        [
            ThinkingDelta(text="Let me think about it."),
            TextDelta(text="I will run a"),
            TextDelta(text=" command."),
            ToolStarted(
                tool_id="toolu_f1d9798c7cf343e0bf51",
                name="Bash",
                input={"command": "echo hi", "description": "run a test command"},
            ),
            ToolEnded(tool_id="toolu_f1d9798c7cf343e0bf51", ok=True, summary="hi"),
            ThinkingDelta(text="Let me think about it."),
            TextDelta(text="AFTERTOOL us"),
            TextDelta(text="ers=1 result"),
            TextDelta(text="=hi"),
            TurnEnded(text="AFTERTOOL users=1 result=hi", stop_reason="end_turn"),
        ]
    )


@pytest.mark.req("E6")
def test_a_resumed_claude_reports_the_cost_of_this_turn_only():
    [usage] = [e for e in translated(ClaudeTranslator(), "claude/02-resume") if isinstance(e, UsageReported)]
    assert usage == snapshot(
        UsageReported(
            input_tokens=2597,
            output_tokens=23,
            cached_tokens=11,
            cost_usd=0.010813200000000002,
            context_used=2597,
            context_size=1000000,
        )
    )


def test_a_follow_up_turn_of_a_sub_agent_adds_to_the_answer_and_to_the_cost():
    events = translated(ClaudeTranslator(), "claude/10b-subagent")
    costs = [event.cost_usd for event in events if isinstance(event, UsageReported)]
    assert costs == pytest.approx([0.0352676, 0.0159132])
    assert isinstance(events[-1], TurnEnded)
    assert events[-1].text.count("AFTERTOOL") == 2
    assert "hello from parent to sub" not in said(events)


def test_a_denied_tool_is_no_failure_of_the_turn():
    events = translated(ClaudeTranslator(), "claude/03-tool-noperm")
    [ended] = [event for event in events if isinstance(event, ToolEnded)]
    assert not ended.ok
    assert isinstance(events[-1], TurnEnded)


@pytest.mark.req("C9", "E1")
def test_a_permission_request_carries_all_that_a_person_needs():
    events = translated(ClaudeTranslator(), "claude/04d-perm-stdio-allow")
    [asked] = [event for event in events if isinstance(event, PermissionRequested)]
    assert asked == snapshot(
        PermissionRequested(
            request_id="3a2e8278-7c19-4f67-a2c6-556bb2349601",
            tool="Bash",
            title="run a test command",
            detail="touch made-by-04d-perm-stdio-allow; echo done",
            diff="",
            input={"command": "touch made-by-04d-perm-stdio-allow; echo done", "description": "run a test command"},
            suggestions=(
                Suggestion(
                    label="Always allow Bash(touch made-by-04d-perm-stdio-allow; echo done)",
                    raw={
                        "type": "addRules",
                        "rules": [{"toolName": "Bash", "ruleContent": "touch made-by-04d-perm-stdio-allow; echo done"}],
                        "behavior": "allow",
                        "destination": "localSettings",
                    },
                ),
                Suggestion(
                    label="Allow the directory /home/dev/project",
                    raw={"type": "addDirectories", "directories": ["/home/dev/project"], "destination": "session"},
                ),
                Suggestion(
                    label="Switch to the mode acceptEdits",
                    raw={"type": "setMode", "mode": "acceptEdits", "destination": "session"},
                ),
            ),
        )
    )


@pytest.mark.parametrize(
    ("transcript", "code", "transient"),
    [
        ("claude/02d-resume-bad-uuid", Code.E_RESUME_GONE, False),
        ("claude/02h-session-id-reuse", Code.E_CLI_EXIT_NONZERO, False),
        ("claude/05-err429-maxretries1", Code.E_AGENT_ERROR, True),
        ("claude/05-err401", Code.E_CLI_NOT_LOGGED_IN, False),
        ("claude/05-unknown-model", Code.E_MODEL_UNAVAILABLE, False),
        ("claude/06a-max-budget-tiny", Code.E_AGENT_ERROR, False),
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


def translator_for(transcript: str) -> Translator:
    match Path(transcript).parts[0]:
        case "claude":
            return ClaudeTranslator()
        case "codex":
            return CodexTranslator(before=codex_wire.Usage())
        case _:
            return StreamTranslator()


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


def test_an_interruption_ends_the_turn_with_what_was_said_so_far():
    translator = ClaudeTranslator()
    events = [event for line in lines_of("claude/05s-sigint-mid-stream") for event in translator.feed(line)]
    assert said(events) == "w0 w1 w2 "
    assert translator.finish(Exit(0)) == [TurnEnded("w0 w1 w2", "interrupted")]


def test_a_killed_claude_has_no_result():
    [end] = [translated(ClaudeTranslator(), "claude/05s-sigterm-mid-tool")[-1]]
    assert isinstance(end, TurnFailed)
    assert end.code is Code.E_CLI_EXIT_NONZERO


@pytest.mark.req("E2")
def test_in_text_mode_all_that_is_printed_is_the_answer():
    assert translated(TextTranslator(), "claude/01c-new-turn-text")[-1] == TurnEnded(
        "ECHO users=1 images=0 toolresults=0 last=hi"
    )


# --- codex ----------------------------------------------------------------------------------------------------------


def test_a_new_turn_of_codex_with_a_harmless_error():
    assert translated(CodexTranslator(before=codex_wire.Usage()), "codex/01-new-turn") == snapshot(
        [
            ResumeKeyFound(key="01a1e08d-d41d-7152-8b2b-8724e4e480aa"),
            Diagnostic(
                text="Model metadata for `fake-model` not found. Defaulting to fallback metadata; "
                "this can degrade performance and cause issues."
            ),
            TextDelta(text="ECHO users=1 images=0 toolresults=0 last=hi"),
            UsageReported(
                input_tokens=5233, output_tokens=57, cached_tokens=3, cost_usd=0.0, context_used=0, context_size=0
            ),
            TurnEnded(text="ECHO users=1 images=0 toolresults=0 last=hi", stop_reason=""),
        ]
    )


@pytest.mark.req("E6")
def test_codex_counts_over_the_thread_and_we_over_the_turn():
    thread = "01a1e08d-d41d-7152-8b2b-8724e4e480aa"
    before = codex_wire.Usage(input_tokens=5233, cached_input_tokens=3, output_tokens=57)
    events = translated(CodexTranslator(thread, before), "codex/02-resume")
    assert [event for event in events if isinstance(event, UsageReported)] == [
        UsageReported(input_tokens=5321, output_tokens=58, cached_tokens=3)
    ]


def test_two_tools_of_codex_are_told_apart():
    events = translated(CodexTranslator(before=codex_wire.Usage()), "codex/03g-two-tools")
    assert without(events, UsageReported, Diagnostic, ResumeKeyFound, TurnEnded, TextDelta) == snapshot(
        [
            ToolStarted(tool_id="item_2", name="Bash", input={"command": "/bin/bash -lc 'echo second-tool'"}),
            ToolStarted(tool_id="item_3", name="Bash", input={"command": "/bin/bash -lc 'echo first-tool'"}),
            ToolEnded(tool_id="item_2", ok=True, summary="second-tool\n"),
            ToolEnded(tool_id="item_3", ok=True, summary="first-tool\n"),
        ]
    )


def test_a_command_that_fails_is_a_tool_that_fails():
    events = translated(CodexTranslator(before=codex_wire.Usage()), "codex/03h-tool-fails")
    assert [event.ok for event in events if isinstance(event, ToolEnded)] == [False]


@pytest.mark.req("A9")
def test_another_thread_than_the_one_asked_for_stops_codex_before_it_acts():
    translator = CodexTranslator("01a1e08d-0000-0000-0000-000000000000")
    first = translator.feed(lines_of("codex/01-new-turn")[0])
    assert [(event.code, "began" in event.message) for event in first if isinstance(event, TurnFailed)] == [
        (Code.E_RESUME_GONE, True)
    ]
    assert not any(isinstance(event, ResumeKeyFound) for event in first)


# --- gemini ---------------------------------------------------------------------------------------------------------


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


@pytest.mark.req("A11")
def test_a_success_without_a_word_and_with_a_warning_is_a_failure():
    translator = StreamTranslator()
    translator.feed(b'{"type":"init","session_id":"s"}')
    translator.feed(b'{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}')
    translator.feed(b'{"type":"result","status":"success"}')
    assert translator.finish(Exit(0)) == [TurnFailed(Code.E_AGENT_ERROR, "Loop detected, stopping execution")]
