"""What claude printed, translated: whole values compared, from recordings of the real program."""

import pytest
from inline_snapshot import snapshot

from fairlead.core.engine import (
    Diagnostic,
    EngineEvent,
    ModelsOffered,
    PermissionRequested,
    PointReached,
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
from fairlead.runtimes.translator import Exit, is_end
from tests.runtimes.recordings import lines_of, said, translated, without

pytestmark = pytest.mark.req("A10", "E1")


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
            PointReached(point="c53b3107-0524-4d42-8a33-e5818ed77068"),
            TurnEnded(text="ECHO users=1 images=0 toolresults=0 last=hi", stop_reason="end_turn"),
        ]
    )


def test_a_tool_of_claude_is_allowed_and_ends():
    events = translated(ClaudeTranslator(), "claude/03c-tool-allowedTools")
    assert without(events, UsageReported, ModelsOffered, PointReached) == snapshot(
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
    assert without(events, UsageReported, ModelsOffered, ResumeKeyFound, PointReached, Diagnostic) == snapshot(
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
            command="touch made-by-04d-perm-stdio-allow; echo done",
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


def ends_before_the_exit(transcript: str) -> list[EngineEvent]:
    translator = ClaudeTranslator()
    return [event for line in lines_of(transcript) for event in translator.feed(line) if is_end(event)]


def test_an_answer_that_took_no_tool_ends_the_turn_and_the_process_may_take_its_time_to_leave():
    [end] = ends_before_the_exit("claude/01-new-turn")
    assert end == translated(ClaudeTranslator(), "claude/01-new-turn")[-1]
    assert isinstance(end, TurnEnded)


@pytest.mark.parametrize(
    "transcript", ["03c-tool-allowedTools", "10b-subagent", "05-unknown-model", "02d-resume-bad-uuid"]
)
def test_behind_a_tool_more_may_come_and_a_failure_is_told_by_the_exit(transcript: str):
    assert ends_before_the_exit(f"claude/{transcript}") == []


def test_what_became_of_a_background_task_is_no_answer_to_the_prompt():
    [*_, result] = lines_of("claude/01-new-turn")
    told = result.replace(b'{"', b'{"origin":{"kind":"task-notification"},"', 1)
    assert not any(map(is_end, ClaudeTranslator().feed(told)))
    assert any(map(is_end, ClaudeTranslator().feed(result)))


def test_an_answer_before_the_end_of_a_background_task_is_not_the_last_word():
    changed = b'{"type":"system","subtype":"background_tasks_changed","tasks":%s}'
    [*_, result] = lines_of("claude/01-new-turn")
    translator = ClaudeTranslator()
    translator.feed(changed % b'[{"id":"b1"}]')
    assert not any(map(is_end, translator.feed(result)))
    translator.feed(changed % b"[]")
    assert any(map(is_end, translator.feed(result)))
