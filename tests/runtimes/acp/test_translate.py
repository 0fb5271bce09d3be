"""Every kind of update that an ACP agent sends, as the engine event that people see."""

import re
from typing import Any, get_args

import pytest
from acp import schema

from fairlead.core.engine import (
    AgentOption,
    CommandsOffered,
    Diagnostic,
    EngineEvent,
    ImageProduced,
    ModelsOffered,
    ModesOffered,
    Noticed,
    OptionsOffered,
    SlashCommand,
    TextDelta,
    ThinkingDelta,
    TitleFound,
    TodoItem,
    TodosChanged,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
)
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.translate import DIFF, SUMMARY, UpdateTranslator
from tests.runtimes.acp.recordings import NAMES, read_update, turns_in
from tests.support.scripted_acp.updates import PICTURE

pytestmark = pytest.mark.req("B4")


def translate(*updates: dict[str, Any], into: UpdateTranslator | None = None) -> list[EngineEvent]:
    translator = into or UpdateTranslator()
    return [event for update in updates for event in translator.translate(read_update(update))]


def text_of(*updates: dict[str, Any]) -> tuple[str, str]:
    """What people see as it comes, and the whole answer at the end."""
    translator = UpdateTranslator()
    events = translate(*updates, into=translator)
    return "".join(event.text for event in events if isinstance(event, TextDelta)), translator.text


def chunk(text: str, message_id: str | None = None) -> dict[str, Any]:
    named = {} if message_id is None else {"messageId": message_id}
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}, **named}


def picture(data: str = PICTURE) -> dict[str, Any]:
    return {"type": "image", "mimeType": "image/png", "data": data}


def call(tool_id: str = "t1", **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call", "toolCallId": tool_id, **fields}


def change(tool_id: str = "t1", **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": tool_id, **fields}


def shown(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


# --- all kinds -------------------------------------------------------------------------------------------------------


def test_every_kind_of_update_that_the_sdk_knows_is_read():
    union = get_args(schema.SessionNotification.model_fields["update"].annotation)
    kinds = {get_args(model.model_fields["session_update"].annotation)[0] for model in union}
    ours = {kind.__struct_config__.tag for kind in get_args(wire.Update)}
    assert kinds <= ours, kinds - ours


def test_a_thought_is_told_apart_from_the_answer():
    thought = {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}
    assert translate(thought) == [ThinkingDelta("hm")]
    assert text_of(thought) == ("", "")


def test_the_words_of_the_person_are_not_the_answer():
    assert translate({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hello"}}) == []


def test_a_title_is_told_once():
    translator = UpdateTranslator()
    titled = {"sessionUpdate": "session_info_update", "title": "Mend the tests", "updatedAt": "2026-11-15"}
    assert translate(titled, titled, into=translator) == [TitleFound("Mend the tests")]
    assert translate({"sessionUpdate": "session_info_update", "_meta": {"codex": {}}}, into=translator) == []
    assert translator.facts.title == "Mend the tests"


def test_the_agents_own_commands_are_offered():
    commands = [
        {"name": "compact", "description": "Shorten", "input": {"hint": "how"}},
        {"name": "init", "input": None},
    ]
    offered = (SlashCommand("compact", "Shorten", "how"), SlashCommand("init"))
    translator = UpdateTranslator()
    update = {"sessionUpdate": "available_commands_update", "availableCommands": commands}
    assert translate(update, into=translator) == [CommandsOffered(offered)]
    assert translator.facts.commands == offered


def test_usage_is_noted_and_other_currencies_are_not_taken_for_dollars():
    translator = UpdateTranslator()
    update = {"sessionUpdate": "usage_update", "used": 10, "size": 200, "cost": {"amount": 0.5, "currency": "USD"}}
    assert translate(update, into=translator) == []
    translate({"sessionUpdate": "usage_update", "used": 12, "cost": {"amount": 9, "currency": "EUR"}}, into=translator)
    facts = translator.facts
    assert (facts.context_used, facts.context_size, facts.cost_usd) == (12, 200, 0.5)


# --- the answer ------------------------------------------------------------------------------------------------------


def test_chunks_of_one_message_are_one_text():
    assert text_of(chunk("Hel", "m1"), chunk("lo", "m1"), chunk("", "m1"), chunk("!", "m1")) == ("Hello!", "Hello!")


@pytest.mark.parametrize(
    "between",
    [call(kind="read", title="a", status="completed"), call(kind="think", title="a")],
    ids=["a tool that ends", "a tool that goes on"],
)
def test_a_tool_between_two_messages_makes_a_paragraph(between: dict[str, Any]):
    assert text_of(chunk("First."), between, chunk("Then.")) == ("First.\n\nThen.", "First.\n\nThen.")


def test_a_message_with_another_id_is_a_paragraph():
    assert text_of(chunk("First.", "m1"), chunk("Then.", "m2"))[1] == "First.\n\nThen."


def test_a_chunk_without_an_id_goes_on_with_the_message():
    assert text_of(chunk("Hel", "m1"), chunk("lo, "), chunk("you", "m1"))[1] == "Hello, you"
    assert text_of(chunk("Hel"), chunk("lo", "m1"))[1] == "Hello"


def test_a_request_of_the_agent_makes_a_paragraph():
    translator = UpdateTranslator()
    translate(chunk("First."), into=translator)
    translator.end_message()
    assert translate(chunk("Then."), into=translator) == [TextDelta("\n\n"), TextDelta("Then.")]


def test_messages_of_nothing_but_blanks_are_left_out_of_the_answer():
    assert text_of(chunk("One", "m1"), chunk(" \n", "m2"), chunk("Two", "m3"))[1] == "One\n\nTwo"


def test_a_new_turn_begins_with_nothing():
    translator = UpdateTranslator()
    translate(chunk("old"), call(kind="read", title="a"), into=translator)
    translator.begin_turn()
    assert (translator.text, translator.is_in_tool) == ("", False)
    assert translate(chunk("new"), into=translator) == [TextDelta("new")]


@pytest.mark.parametrize("name", NAMES)
def test_the_text_of_a_recorded_turn_is_all_that_was_said(name: str):
    for sent, _ in turns_in(name):
        translator = UpdateTranslator()
        spoken: list[str] = []
        events: list[EngineEvent] = []
        for message in sent:
            if message.get("method") == "session/request_permission":
                translator.end_message()
            if message.get("method") == "session/update":
                update = message["params"]["update"]
                events += translate(update, into=translator)
                if update["sessionUpdate"] == "agent_message_chunk":
                    spoken.append(update["content"]["text"])
        shown_to_people = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert without_blanks(translator.text) == without_blanks("".join(spoken)) == without_blanks(shown_to_people)
        assert translator.text == shown_to_people.strip()
        assert not [event for event in events if isinstance(event, Diagnostic)]
        started = [event.tool_id for event in events if isinstance(event, ToolStarted)]
        assert started == [event.tool_id for event in events if isinstance(event, ToolEnded)]
        assert len(started) == len(set(started))


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_turn_with_updates_left_out_doubled_and_swapped_is_still_read(name: str):
    for sent, _ in turns_in(name):
        updates = [message["params"]["update"] for message in sent if message.get("method") == "session/update"][:30]
        for place in range(len(updates)):
            for changed in (
                [*updates[:place], *updates[place + 1 :]],
                [*updates[: place + 1], *updates[place:]],
                [*updates[:place], *updates[place + 1 : place + 2], updates[place], *updates[place + 2 :]],
            ):
                translator = UpdateTranslator()
                events = translate(*changed, into=translator)
                open_tools: set[str] = set()
                for event in events:
                    if isinstance(event, ToolStarted):
                        open_tools.add(event.tool_id)
                    if isinstance(event, ToolEnded | ToolProgressed):
                        assert event.tool_id in open_tools
                shown_to_people = "".join(event.text for event in events if isinstance(event, TextDelta))
                assert without_blanks(translator.text) == without_blanks(shown_to_people)


def without_blanks(text: str) -> str:
    return re.sub(r"\s", "", text)


# --- tools -----------------------------------------------------------------------------------------------------------


def test_a_tool_starts_changes_and_ends():
    place = [{"path": "/srv/a.py", "line": 3}]
    assert translate(
        call(kind="execute", title="ls", status="pending", rawInput={"command": "ls"}, locations=place),
        change(status="in_progress", title="ls -la", content=[shown("total 0")]),
        change(status="completed", content=[shown("total 0\na.py")], rawOutput={"output": "ignored"}),
    ) == [
        ToolStarted("t1", "Bash", {"command": "ls", "title": "ls", "locations": [{"path": "/srv/a.py"}]}),
        ToolProgressed(tool_id="t1", title="ls -la", output="total 0"),
        ToolProgressed(tool_id="t1", output="total 0\na.py"),
        ToolEnded("t1", ok=True, summary="total 0\na.py"),
    ]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("execute", "Bash"),
        ("read", "Read"),
        ("edit", "Edit"),
        ("delete", "Delete"),
        ("move", "Move"),
        ("search", "Grep"),
        ("fetch", "WebFetch"),
        ("think", "think"),
        ("switch_mode", "switch_mode"),
        ("other", "other"),
        ("from_the_future", "from_the_future"),
        (None, "other"),
    ],
)
def test_a_tool_has_the_name_of_its_kind(kind: str | None, name: str):
    [started] = translate(call(kind=kind, title="x"))
    assert started == ToolStarted("t1", name, {"title": "x"})


def test_claudes_own_name_of_a_tool_comes_first():
    [started] = translate(call(kind="edit", title="x", _meta={"claudeCode": {"toolName": "MultiEdit"}}))
    assert started == ToolStarted("t1", "MultiEdit", {"title": "x"})


def test_a_tool_that_fails_is_told_so():
    assert translate(call(kind="read", title="a", status="failed", rawOutput="no such file")) == [
        ToolStarted("t1", "Read", {"title": "a"}),
        ToolEnded("t1", ok=False, summary="no such file"),
    ]


def test_a_tool_without_a_tool_call_is_seen_to_start_and_to_end():
    """As Gemini does it: the first word about the tool is that it has ended."""
    assert translate(change(kind="execute", title="touch a", status="completed", content=[], locations=[])) == [
        ToolStarted("t1", "Bash", {"title": "touch a"}),
        ToolEnded("t1"),
    ]


def test_words_about_a_tool_that_has_ended_do_not_start_it_again():
    ended = [call(kind="read", title="a"), change(status="completed", title="a")]
    late = [change(status="completed"), change(_meta={"more": 1}), change(title="a", content=[shown("again")])]
    assert translate(*ended, *late) == translate(*ended)


def test_a_tool_may_be_called_again_by_the_same_id():
    once = [call(kind="read", title="a", status="completed")]
    assert translate(*once, *once) == 2 * translate(*once)


def test_a_diff_is_shown_as_one():
    content = [{"type": "diff", "path": "a.py", "oldText": "one\ntwo\n", "newText": "one\nthree\n"}]
    [_, changed] = translate(call(kind="edit", title="a.py"), change(content=content))
    assert isinstance(changed, ToolProgressed)
    assert changed.diff.splitlines() == ["--- a.py", "+++ a.py", "@@ -1,2 +1,2 @@", " one", "-two", "+three"]


def test_a_new_file_is_a_diff_of_additions_and_a_long_diff_is_cut():
    content = [{"type": "diff", "path": "a", "oldText": None, "newText": "x" * 30_000}]
    [_, changed] = translate(call(kind="edit", title="a"), change(content=content))
    assert isinstance(changed, ToolProgressed)
    assert changed.diff[:DIFF].endswith("x")
    assert re.fullmatch(r"\[cut here: \d+ characters in all\]", changed.diff[DIFF + 1 :])


def test_of_a_long_output_the_end_is_kept():
    *_, ended = translate(call(kind="execute", title="a", status="completed", content=[shown("x" * 5000 + "end")]))
    assert isinstance(ended, ToolEnded)
    assert (len(ended.summary), ended.summary[-3:]) == (SUMMARY, "end")


def test_output_that_stands_beside_the_protocol_is_found():
    """As Codex shows it: the client has no terminal, and the output is in `_meta`."""
    output = {"terminal_output_delta": {"data": "made\n", "terminal_id": "t1"}}
    *_, ended = translate(
        call(kind="execute", title="a", content=[{"type": "terminal", "terminalId": "t1"}]),
        change(status="completed", _meta=output | {"terminal_exit": {"exit_code": 0}}),
    )
    assert ended == ToolEnded("t1", ok=True, summary="made\n")


# --- pictures --------------------------------------------------------------------------------------------------------


def test_a_picture_is_passed_on_once_wherever_it_stands():
    message = {"sessionUpdate": "agent_message_chunk", "content": picture()}
    in_tool = call(kind="read", title="a", status="completed", content=[{"type": "content", "content": picture()}])
    [image, _, _] = translate(message, message, in_tool)
    assert isinstance(image, ImageProduced)
    assert (image.media_type, image.data[:4]) == ("image/png", b"\x89PNG")


def test_of_many_pictures_the_first_are_passed_on_and_the_rest_is_told():
    messages = [{"sessionUpdate": "agent_message_chunk", "content": picture(f"{n:04}")} for n in range(13)]
    events = translate(*messages)
    assert [type(event) for event in events] == [ImageProduced] * 10 + [Noticed]


@pytest.mark.parametrize(
    "content",
    [
        {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
        {"type": "resource_link", "uri": "file:///srv/a.txt", "name": "a.txt"},
        {"type": "resource", "resource": {"uri": "file:///srv/a.txt", "text": "words"}},
        {"type": "from_the_future"},
        {},
    ],
)
def test_content_that_nobody_can_be_shown_is_kept_as_a_diagnostic(content: dict[str, Any]):
    [event] = translate({"sessionUpdate": "agent_message_chunk", "content": content})
    assert isinstance(event, Diagnostic)
    assert repr(content.get("type", "")) in event.text


# --- plans -----------------------------------------------------------------------------------------------------------


def entries(*names: str) -> list[dict[str, Any]]:
    return [{"content": name, "priority": "high", "status": "pending"} for name in names]


def test_a_plan_is_the_whole_list_each_time():
    listed = [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]
    assert translate(
        {"sessionUpdate": "plan", "entries": [*listed, {"content": "c", "status": "skipped"}]},
        {"sessionUpdate": "plan", "entries": []},
    ) == [
        TodosChanged((TodoItem("a", "completed"), TodoItem("b", "in_progress"), TodoItem("c", "pending"))),
        TodosChanged(),
    ]


def test_several_plans_are_one_list_until_they_are_removed():
    assert translate(
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p1", "entries": entries("a")}},
        {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "p2", "content": "# Plan"}},
        {"sessionUpdate": "plan_update", "plan": {"type": "file", "planId": "p3", "uri": "file:///srv/plan.md"}},
        {"sessionUpdate": "plan_removed", "planId": "p1"},
        {"sessionUpdate": "plan_removed", "planId": "unknown"},
    ) == [
        TodosChanged((TodoItem("a"),)),
        TodosChanged((TodoItem("a"), TodoItem("# Plan"))),
        TodosChanged((TodoItem("a"), TodoItem("# Plan"), TodoItem("file:///srv/plan.md"))),
        TodosChanged((TodoItem("# Plan"), TodoItem("file:///srv/plan.md"))),
        TodosChanged((TodoItem("# Plan"), TodoItem("file:///srv/plan.md"))),
    ]


# --- models, modes, options ------------------------------------------------------------------------------------------

MODE = {"id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": "default"}
MODE |= {"options": [{"value": "default", "name": "Default"}, {"value": "plan", "name": "Plan"}]}
MODEL = {"id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": "big"}
MODEL |= {"options": [{"group": "g", "name": "All", "options": [{"value": "big"}, {"value": "small"}]}]}
FAST = {"id": "fast", "name": "Fast", "category": "model_config", "type": "boolean", "currentValue": True}
LEVEL = {"id": "level", "type": "select", "currentValue": "low", "options": [{"value": "low"}, {"value": "high"}]}
LATER = {"id": "later", "name": "Later", "type": "number", "currentValue": 5}


def test_options_say_which_model_and_which_mode_the_rest_is_offered_as_it_is():
    translator = UpdateTranslator()
    update = {"sessionUpdate": "config_option_update", "configOptions": [MODE, MODEL, FAST, LEVEL]}
    assert translate(update, into=translator) == [
        ModesOffered("default", ("default", "plan")),
        ModelsOffered("big", ("big", "small")),
        OptionsOffered((AgentOption("fast", "Fast", "on"), AgentOption("level", "level", "low", ("low", "high")))),
    ]
    assert (translator.facts.mode_option, translator.facts.model_option) == ("mode", "m")


def test_an_option_of_a_kind_that_nobody_knows_costs_only_itself():
    events = translate({"sessionUpdate": "config_option_update", "configOptions": [MODE, LATER]})
    assert events == [
        ModesOffered("default", ("default", "plan")),
        OptionsOffered((AgentOption("later", "Later", "5"),)),
    ]


def test_the_agent_changes_its_mode_by_itself():
    translator = UpdateTranslator()
    translate({"sessionUpdate": "config_option_update", "configOptions": [MODE]}, into=translator)
    [offered] = translate({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}, into=translator)
    assert offered == ModesOffered("plan", ("default", "plan"))


def opened(**fields: Any) -> wire.SessionOpened:
    import msgspec

    return msgspec.convert({"sessionId": "s", **fields}, wire.SessionOpened, strict=False)


MODES = {"currentModeId": "default", "availableModes": [{"id": "default", "name": "D"}, {"id": "plan", "name": "P"}]}
MODELS = {"currentModelId": "big", "availableModels": [{"modelId": "big", "name": "B"}, {"modelId": "small"}]}


def test_a_session_offers_models_and_modes_in_the_older_way():
    translator = UpdateTranslator()
    assert translator.note_session(opened(models=MODELS, modes=MODES)) == [
        ModelsOffered("big", ("big", "small")),
        ModesOffered("default", ("default", "plan")),
    ]
    assert (translator.facts.model_option, translator.facts.mode_option) == ("", "")


def test_options_say_more_than_the_older_fields():
    translator = UpdateTranslator()
    events = translator.note_session(opened(models=MODELS, modes=MODES, configOptions=[MODE, MODEL]))
    assert events == [ModesOffered("default", ("default", "plan")), ModelsOffered("big", ("big", "small"))]
    assert (translator.facts.model_option, translator.facts.mode_option) == ("m", "mode")


def test_a_mode_that_is_named_by_an_address_is_read_by_its_last_word():
    """As Copilot names its modes."""
    url = "https://agentclientprotocol.com/protocol/session-modes#"
    modes = {"currentModeId": f"{url}agent", "availableModes": [{"id": f"{url}agent"}, {"id": f"{url}plan"}]}
    translator = UpdateTranslator()
    assert translator.note_session(opened(modes=modes)) == [ModesOffered("agent", ("agent", "plan"))]
    assert translator.facts.ids["plan"] == f"{url}plan"
    assert translate({"sessionUpdate": "current_mode_update", "currentModeId": f"{url}plan"}, into=translator) == [
        ModesOffered("plan", ("agent", "plan"))
    ]


# --- what real agents say in their own way ---------------------------------------------------------------------------


def test_empty_chunks_count_the_tokens_of_each_request_of_the_turn():
    translator = UpdateTranslator()
    count = {"usage": {"inputTokens": 100, "outputTokens": 7, "cachedReadTokens": 3, "totalTokens": "odd"}}
    assert translate(chunk("hello"), chunk("") | {"_meta": count}, chunk("") | {"_meta": count}, into=translator) == [
        TextDelta("hello")
    ]
    assert translator.counted == wire.Usage(input_tokens=200, output_tokens=14, cached_read_tokens=6)
    translator.begin_turn()
    translate(chunk("") | {"_meta": {"usage": "odd"}}, chunk("") | {"_meta": 5}, into=translator)
    assert translator.counted is None


def info(**meta: Any) -> dict[str, Any]:
    return {"sessionUpdate": "session_info_update", "_meta": meta}


def test_error_mark_what_codex_says_after_its_status_is_an_error():
    translator = UpdateTranslator()
    translator.error_mark = ("codex", "threadStatus", "type", "systemError")
    failed = info(codex={"threadStatus": {"type": "systemError"}})
    translate(
        chunk("Let me see.", "m1"), info(codex={"threadStatus": {"type": "active"}}), info(codex=1), into=translator
    )
    assert translator.failure == ""
    translate(failed, chunk("exceeded retry limit"), into=translator)
    assert (translator.failure, translator.text) == ("exceeded retry limit", "Let me see.\n\nexceeded retry limit")
    translator.begin_turn()
    assert translator.failure == ""


def test_the_diffs_of_a_call_are_known_when_the_agent_asks_for_it():
    translator = UpdateTranslator()
    shown = {"type": "diff", "path": "/a", "oldText": None, "newText": "hello"}
    translate(call(kind="edit", content=[shown]), into=translator)
    translate({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "in_progress"}, into=translator)
    assert translator.find_shown("t1") == (wire.ToolContent(type="diff", path="/a", new_text="hello"),)
    assert translator.find_shown("t2") == ()
