"""What codex printed, translated: whole values compared, from recordings of the real program."""

import json

import pytest
from inline_snapshot import snapshot

from fairlead.core.engine import (
    Diagnostic,
    ResumeKeyFound,
    TextDelta,
    TodoItem,
    TodosChanged,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.runtimes.codex import wire as codex_wire
from fairlead.runtimes.codex.translate import CodexTranslator
from fairlead.runtimes.translator import Exit
from tests.runtimes.recordings import lines_of, translated, without

pytestmark = pytest.mark.req("A10", "E1")


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


@pytest.mark.req("A18")
@pytest.mark.parametrize(("withheld", "is_named"), [({"MY_KEY"}, True), ({"OTHER_KEY"}, False), (set(), False)])
def test_a_key_that_is_set_but_not_passed_on_is_told_with_the_setting_that_passes_it_on(
    withheld: set[str], is_named: bool
):
    translator = CodexTranslator(before=codex_wire.Usage(), withheld=frozenset(withheld))
    translator.feed(b'{"type":"thread.started","thread_id":"t1"}')
    translator.feed(b'{"type":"turn.failed","error":{"message":"Missing environment variable: `MY_KEY`."}}')
    [failure] = translator.finish(Exit(1))
    assert isinstance(failure, TurnFailed)
    assert failure.code is Code.E_CLI_NOT_LOGGED_IN
    assert failure.message.startswith("Missing environment variable: `MY_KEY`.")
    assert ("add MY_KEY to FAIRLEAD_RUNTIME_ENVIRONMENT" in failure.message) is is_named


def test_codexs_list_is_shown_as_it_changes():
    translator = CodexTranslator()
    items = [{"text": "look", "completed": True}, {"text": "fix", "completed": False}]
    plan = [{"step": "look", "status": "completed"}, {"step": "fix", "status": "inProgress"}, "no item"]

    def said(kind: str, listed: list[object], name: str = "todo_list") -> bytes:
        return json.dumps({"type": kind, "item": {"id": "i1", "type": name, "items": listed}}).encode()

    first = [TodosChanged((TodoItem("look", "completed"), TodoItem("fix")))]
    assert [translator.feed(said(kind, [*items])) for kind in ("item.started", "item.updated", "item.completed")] == [
        first
    ] * 3
    assert translator.feed(said("item.updated", [*plan], "plan")) == [
        TodosChanged((TodoItem("look", "completed"), TodoItem("fix", "in_progress")))
    ]
