"""The scripted ACP agent follows its orders, through the SDK, which checks every message, and without it."""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted_acp.permissions import OPTION_SETS
from tests.support.scripted_acp.raw_client import RawClient, choose, kinds_in, running, session_of, words_in
from tests.support.scripted_acp.shim import write_shim
from tests.support.scripted_acp.updates import PICTURE

CONFIG = {"mode": "default", "model": "scripted-1", "effort": "medium", "fast": False}


@pytest.fixture(scope="module", params=["sdk", "bare"])
def agent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawClient]:
    """One process for all tests that break nothing: each has a session of its own."""
    directory = tmp_path_factory.mktemp("agent")
    shim = write_shim(
        directory, bare=request.param == "bare", state=directory / "state", settings="models,modes,config"
    )
    with running(shim) as client:
        client.initialize()
        yield client


@pytest.fixture
def session(agent: RawClient) -> str:
    agent.answer = {"session/request_permission": choose("once")}
    session = agent.new_session()
    agent.updates(session)
    return session


def turn(agent: RawClient, session: str, prompt: str) -> list[dict[str, Any]]:
    """The updates of a whole turn that must end well."""
    response = agent.prompt(session, prompt)
    assert response["result"]["stopReason"] == "end_turn", response
    return agent.updates(session)


def updates_heard(agent: RawClient, session: str) -> list[dict[str, Any]]:
    return [message["params"]["update"] for message in agent.heard if session_of(message) == session]


def option_values(options: list[dict[str, Any]]) -> dict[str, Any]:
    return {option["id"]: option["currentValue"] for option in options}


def test_it_says_who_it_is_and_what_it_can(agent: RawClient):
    result = agent.initialize()["result"]

    assert result["protocolVersion"] == 1
    assert result["agentInfo"] == {"name": "scripted", "title": "Scripted", "version": "1.2.3"}
    assert result["agentCapabilities"]["loadSession"] is True
    assert set(result["agentCapabilities"]["sessionCapabilities"]) == {"list", "resume", "fork", "close"}
    assert (result["authMethods"], result["_meta"]) == ([], {"steering": {"supported": True}})


def test_a_session_begins_with_its_settings_and_then_its_commands(agent: RawClient):
    result = agent.call("session/new", cwd="/tmp", mcpServers=[])["result"]
    commands = agent.until_update("available_commands_update")["availableCommands"]

    assert result["models"]["currentModelId"] == "scripted-1"
    assert result["modes"]["currentModeId"] == "default"
    assert option_values(result["configOptions"]) == CONFIG
    assert {option["category"] for option in result["configOptions"]} >= {"model", "mode", "thought_level"}
    assert [command["name"] for command in commands] == ["compact", "review"]


def test_it_repeats_what_it_is_told_in_several_chunks(agent: RawClient, session: str):
    updates = turn(agent, session, "hello there")

    assert kinds_in(updates) == ["agent_message_chunk"] * 3
    assert words_in(updates) == "You said: hello there"
    assert len({update["messageId"] for update in updates}) == 1


def test_it_remembers_facts_of_the_session_alone(agent: RawClient, session: str):
    agent.say(session, "my name is Ada")

    assert agent.say(session, "what is my name?") == "Your name is Ada."
    assert agent.say(agent.new_session(), "what is my name?") == "I do not know your name."


def test_a_line_with_a_slash_is_a_command(agent: RawClient, session: str):
    assert agent.say(session, "/compact hard") == "Ran the command /compact hard"


def test_it_describes_the_files_of_a_prompt(agent: RawClient, session: str):
    picture = {"type": "image", "mimeType": "image/png", "data": PICTURE}
    link = {"type": "resource_link", "name": "a.txt", "uri": "file:///a.txt"}

    told = agent.say(session, "which files?", picture, link).splitlines()
    size = len(base64.b64decode(PICTURE))
    assert told[1].startswith(f"image image/png {size} ")
    assert told[2] == "resource_link file:///a.txt"


def test_it_thinks_and_shows_pictures(agent: RawClient, session: str):
    updates = turn(agent, session, "think: hm\nimage: 2\nsay: one\\ntwo")

    assert updates[0] == {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}
    assert [update["content"]["type"] for update in updates[1:3]] == ["image", "image"]
    assert words_in(updates[3:]) == "one\ntwo"


def test_plans_come_in_three_forms_and_go(agent: RawClient, session: str):
    orders = "plan: read | edit | test | *ship\nplan-update: read\nplan-text: # Plan\nplan-removed\nquiet"
    plan, items, text, removed = turn(agent, session, orders)

    entries = [(entry["content"], entry["status"]) for entry in plan["entries"]]
    assert entries == [("read", "completed"), ("edit", "in_progress"), ("test", "pending"), ("ship", "completed")]
    assert (items["plan"]["type"], text["plan"]["content"]) == ("items", "# Plan")
    assert removed == {"sessionUpdate": "plan_removed", "planId": "plan_1"}


def test_it_announces_commands_titles_and_its_context(agent: RawClient, session: str):
    updates = turn(agent, session, "commands: a b\ntitle: The talk\ncontext: 1200 200000 0.25\nquiet")

    assert kinds_in(updates) == ["available_commands_update", "session_info_update", "usage_update"]
    assert updates[1]["title"] == "The talk"
    assert updates[2]["cost"] == {"amount": 0.25, "currency": "USD"}
    assert agent.say(session, "which title?") == "title=The talk"


def test_updates_that_no_schema_knows_are_sent_as_they_are(agent: RawClient, session: str):
    updates = turn(agent, session, 'unknown\nupdate: {"sessionUpdate": "mine", "x": 1}\nquiet')

    assert [update.get("sessionUpdate") for update in updates] == [
        "notice",
        "compaction_update",
        "subagent_update",
        "from-the-future",
        42,
        None,
        "mine",
    ]


def test_a_tool_starts_and_ends(agent: RawClient, session: str):
    start, end, *_ = turn(agent, session, "tool: execute ls -la\ntool-failed: read a.txt")

    assert (start["sessionUpdate"], start["kind"], start["status"]) == ("tool_call", "execute", "in_progress")
    assert start["rawInput"] == {"command": "ls -la"}
    assert (end["sessionUpdate"], end["toolCallId"], end["status"]) == (
        "tool_call_update",
        start["toolCallId"],
        "completed",
    )
    assert end["rawOutput"] == {"output": "ran ls -la"}


def test_a_tool_fails_and_names_its_place(agent: RawClient, session: str):
    start, end, *_ = turn(agent, session, "tool-failed: read a.txt")

    assert start["locations"] == [{"path": "/tmp/a.txt", "line": 1}]
    assert end["status"] == "failed"


def test_a_tool_may_begin_without_its_input(agent: RawClient, session: str):
    start, grown, end, *_ = turn(agent, session, "tool-grows: execute make test")

    assert (start["rawInput"], start["title"], start["status"]) == ({}, "Terminal", "pending")
    assert (grown["rawInput"], grown["title"]) == ({"command": "make test"}, "make test")
    assert end["status"] == "completed"


def test_a_tool_stays_open_until_it_is_closed(agent: RawClient, session: str):
    updates = turn(agent, session, "tool-open: fetch http://x\nsay: meanwhile\ntool-close")

    assert kinds_in(updates) == ["tool_call", *["agent_message_chunk"] * 3, "tool_call_update"]


def test_diffs_and_terminals_are_shown_in_tools(agent: RawClient, session: str):
    edit, edited, run, printed, ran = turn(agent, session, "diff: a.txt old => new\nterminal: make\nquiet")

    assert edited["content"] == [{"type": "diff", "path": "/tmp/a.txt", "oldText": "old\n", "newText": "new\n"}]
    assert (edit["kind"], run["content"][0]["type"]) == ("edit", "terminal")
    assert printed["_meta"]["terminal_output_delta"]["data"] == "ran make\n"
    assert ran["status"] == "completed"


@pytest.mark.parametrize(("option", "status"), [("once", "completed"), ("reject", "failed")])
def test_a_permission_decides_what_becomes_of_the_tool(agent: RawClient, session: str, option: str, status: str):
    agent.answer["session/request_permission"] = choose(option)
    updates = turn(agent, session, "ask: execute rm -rf build")

    assert [update["status"] for update in updates if "toolCallId" in update] == ["in_progress", status]
    assert words_in(updates) == f"Chose {option}"


@pytest.mark.parametrize("options", sorted(OPTION_SETS))
def test_a_permission_has_the_options_of_the_set(agent: RawClient, session: str, options: str):
    asked: list[dict[str, Any]] = []

    def note(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"error": {"code": -32603, "message": "nothing to choose"}}

    agent.answer["session/request_permission"] = note
    assert agent.say(session, f"ask: [{options}] edit a.txt") == "Chose (error -32603)"
    [params] = asked
    assert [(o["optionId"], o["name"], o["kind"]) for o in params["options"]] == list(OPTION_SETS[options])
    assert (params["toolCall"]["title"], params["toolCall"]["kind"]) == ("a.txt", "edit")


def test_what_is_allowed_for_good_is_not_asked_again(agent: RawClient, session: str):
    agent.answer["session/request_permission"] = choose("always")
    assert agent.say(session, "ask: rm a") == "Chose always"

    agent.answer = {}
    assert agent.say(session, "ask: rm a") == "Done."
    assert agent.say(session, "ask: rm b") == "Chose (error -32601)"


def test_a_permission_may_come_without_a_tool_call(agent: RawClient, session: str):
    assert kinds_in(turn(agent, session, "ask-silent: rm a"))[0] == "tool_call_update"

    agent.answer["session/request_permission"] = choose("reject")
    assert "tool_call_update" not in kinds_in(turn(agent, session, "ask-silent: rm a"))


def test_a_permission_is_asked_twice_or_beside_another(agent: RawClient, session: str):
    assert agent.say(session, "ask-twice: rm a") == "Chose once, then once"
    assert agent.say(session, "ask-both: rm a | [once] rm b") == "Chose once and once"


def test_a_permission_is_cancelled_without_the_turn(agent: RawClient, session: str):
    agent.answer["session/request_permission"] = lambda _params: {"result": {"outcome": {"outcome": "cancelled"}}}

    assert agent.say(session, "ask: rm a") == "Chose (cancelled)"


def test_a_question_comes_in_the_shape_of_a_permission(agent: RawClient, session: str):
    answered = {"outcome": {"outcome": "selected", "optionId": "proceed_once"}, "answers": {"0": "red"}}
    agent.answer["session/request_permission"] = lambda _params: {"result": answered}

    assert agent.say(session, "ask-question: Which colour? | red | blue") == (
        'Chose proceed_once {"answers": {"0": "red"}}'
    )


def test_a_permission_may_come_after_the_cancel(agent: RawClient, session: str):
    request = agent.begin_prompt(session, "say: on\nask-after-cancel: rm a")
    agent.until_update("agent_message_chunk")
    agent.notify("session/cancel", sessionId=session)

    assert agent.response_to(request)["result"]["stopReason"] == "cancelled"
    assert words_in(agent.updates(session)) == "onAfter the cancel: once"


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("enum", {"enum": "red"}),
        ("titled", {"titled": "blue"}),
        ("multi", {"multi": ["red", "green"]}),
        ("boolean", {"boolean": True}),
        ("number", {"number": 2.5}),
        ("integer", {"integer": 3}),
        ("text", {"text": "Ada"}),
        ("enum text boolean", {"enum": "red", "text": "Ada", "boolean": False}),
        ("claude", {"question_0": "red", "question_1": ["blue"]}),
    ],
)
def test_a_form_asks_for_its_properties(agent: RawClient, session: str, form: str, content: dict[str, Any]):
    asked: list[dict[str, Any]] = []

    def fill_in(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"result": {"action": "accept", "content": content}}

    agent.answer["elicitation/create"] = fill_in
    assert agent.say(session, f"form: {form}") == f"Form: accept {json.dumps(content, sort_keys=True)}"
    [params] = asked
    assert (params["mode"], params["sessionId"]) == ("form", session)
    assert content.keys() <= params["requestedSchema"]["properties"].keys()


def test_a_form_is_declined_or_not_known(agent: RawClient, session: str):
    agent.answer["elicitation/create"] = lambda _params: {"result": {"action": "decline"}}
    assert agent.say(session, "form: text") == "Form: decline"

    agent.answer = {}
    assert agent.say(session, "form: text") == "Form: error -32601"


@pytest.mark.parametrize("reason", ["max_tokens", "max_turn_requests", "refusal", "cancelled", "from-the-future"])
def test_a_turn_stops_for_the_reason_it_is_told(agent: RawClient, session: str, reason: str):
    assert agent.prompt(session, f"stop: {reason}")["result"]["stopReason"] == reason


def test_a_turn_fails_with_an_error_said_before_or_not(agent: RawClient, session: str):
    silent = agent.prompt(session, "error: -32603 429 Too Many Requests")
    assert (silent["error"]["code"], silent["error"]["message"]) == (-32603, "429 Too Many Requests")
    assert agent.updates(session) == []

    said = agent.prompt(session, "error-said: -32000 Authentication required")
    assert said["error"]["code"] == -32000
    assert words_in(agent.updates(session)) == "Authentication required"


def test_a_turn_that_hangs_is_cancelled_and_the_talk_goes_on(agent: RawClient, session: str):
    request = agent.begin_prompt(session, "say: one\nhang")
    agent.until_update("agent_message_chunk")
    agent.notify("session/cancel", sessionId=session)

    assert agent.response_to(request)["result"] == {"stopReason": "cancelled"}
    assert agent.say(session, "hello") == "You said: hello"


def test_a_held_turn_goes_on_when_its_fifo_is_opened(agent: RawClient, session: str, tmp_path: Path):
    os.mkfifo(tmp_path / "go")
    request = agent.begin_prompt(session, f"hold: {tmp_path / 'go'}\nsay: at last")
    with (tmp_path / "go").open("w"):  # opens only once the agent waits
        pass

    assert agent.response_to(request)["result"]["stopReason"] == "end_turn"
    assert words_in(agent.updates(session)) == "at last"


def test_a_turn_may_end_long_after_its_cancel(agent: RawClient, session: str, tmp_path: Path):
    os.mkfifo(tmp_path / "go")
    request = agent.begin_prompt(session, f"say: on\ncancel-slowly: {tmp_path / 'go'}")
    agent.until_update("agent_message_chunk")
    agent.notify("session/cancel", sessionId=session)
    with (tmp_path / "go").open("w"):
        pass

    assert agent.response_to(request)["result"] == {"stopReason": "cancelled"}
    assert words_in(agent.updates(session)) == "onStopping."


def test_a_second_prompt_waits_for_the_first(agent: RawClient, session: str, tmp_path: Path):
    os.mkfifo(tmp_path / "go")
    first = agent.begin_prompt(session, f"hold: {tmp_path / 'go'}\nsay: first")
    second = agent.begin_prompt(session, "say: second")
    with (tmp_path / "go").open("w"):
        pass

    agent.response_to(first)
    assert words_in(agent.updates(session)) == "first"
    agent.response_to(second)
    assert words_in(agent.updates(session)) == "second"


def test_words_come_after_the_response(agent: RawClient, session: str):
    assert agent.say(session, "say: now\nlate: and later\nrespond-twice") == "now"
    assert agent.until_update("agent_message_chunk")["content"]["text"] == "and later"
    assert agent.read()["result"] == {"stopReason": "end_turn"}


def test_words_and_questions_come_outside_of_a_turn(agent: RawClient, session: str, tmp_path: Path):
    os.mkfifo(tmp_path / "go")
    os.mkfifo(tmp_path / "ask")
    agent.say(session, f"unasked: {tmp_path / 'go'} the build is green\nunasked-ask: {tmp_path / 'ask'} rm a")

    with (tmp_path / "go").open("w"):
        pass
    assert agent.until_update("agent_message_chunk")["content"]["text"] == "the build is green"
    with (tmp_path / "ask").open("w"):
        pass
    assert agent.until_update("agent_message_chunk")["content"]["text"] == "Chose once"


def test_what_is_done_the_first_time_only_is_skipped_the_second_time(agent: RawClient, session: str, tmp_path: Path):
    orders = f"say: always\nfirst-time: {tmp_path / 'done'}\nsay: once"

    assert agent.say(session, orders) == "alwaysonce"
    assert agent.say(session, orders) == "always"


def test_the_client_is_asked_for_what_it_may_not_know(agent: RawClient, session: str):
    agent.answer["fs/read_text_file"] = lambda params: {"result": {"content": params["path"]}}

    assert agent.say(session, "call: craft/drainMidTurnQueue") == "craft/drainMidTurnQueue: error -32601"
    assert agent.say(session, 'call: fs/read_text_file {"path": "/a"}') == (
        'fs/read_text_file: result {"content": "/a"}'
    )


def test_a_running_turn_is_steered(agent: RawClient, session: str):
    request = agent.begin_prompt(session, "say: on\nawait-steering")
    agent.until_update("agent_message_chunk")
    steered = agent.call("_session/steering", sessionId=session, prompt=[{"type": "text", "text": "be quick"}])

    assert steered["result"] == {"outcome": "injected"}
    agent.response_to(request)
    assert words_in(agent.updates(session)) == "onSteered: be quick"


def test_steering_without_a_turn_begins_one_or_asks_for_a_prompt(agent: RawClient, session: str):
    words = {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]}
    wish = {"_meta": {"steering": {"idleBehavior": "promptRequired"}}}

    assert agent.call("_session/steering", **words, **wish)["result"]["outcome"] == "promptRequired"
    assert agent.call("_session/steering", **words)["result"] == {"outcome": "startedNewTurn"}
    while "You said: hello" not in words_in(updates_heard(agent, session)):
        agent.read()


def test_settings_of_the_old_style_take_effect(agent: RawClient, session: str):
    agent.call("session/set_model", sessionId=session, modelId="scripted-2")
    agent.call("session/set_mode", sessionId=session, modeId="plan")

    announced = [option_values(update["configOptions"]) for update in agent.updates(session)]
    assert announced == [CONFIG | {"model": "scripted-2"}, CONFIG | {"model": "scripted-2", "mode": "plan"}]
    assert agent.say(session, "which model?") == "model=scripted-2"
    assert agent.say(session, "which mode?") == "mode=plan"
    assert agent.call("session/set_mode", sessionId=session, modeId="bogus")["error"]["code"] == -32602


def test_config_options_take_effect(agent: RawClient, session: str):
    set_option = "session/set_config_option"
    agent.call(set_option, sessionId=session, configId="mode", value="acceptEdits")
    agent.call(set_option, sessionId=session, configId="effort", value="high")
    response = agent.call(set_option, sessionId=session, configId="fast", type="boolean", value=True)

    assert option_values(response["result"]["configOptions"]) == {
        "mode": "acceptEdits",
        "model": "scripted-1",
        "effort": "high",
        "fast": True,
    }
    assert kinds_in(agent.updates(session)) == ["current_mode_update"]
    assert agent.say(session, "which effort?") == "effort=high"
    assert agent.call(set_option, sessionId=session, configId="colour", value="red")["error"]["code"] == -32602


def test_the_agent_changes_its_settings_by_itself(agent: RawClient, session: str):
    updates = turn(agent, session, "mode: plan\nmodel: scripted-3[low]\nwhich model?")

    assert kinds_in(updates)[:3] == ["current_mode_update", "config_option_update", "config_option_update"]
    assert words_in(updates) == "model=scripted-3[low]"


def test_sessions_are_listed_forked_and_closed(agent: RawClient, tmp_path: Path):
    session = agent.new_session(str(tmp_path))
    agent.say(session, "my name is Ada")
    fork = agent.call("session/fork", sessionId=session, cwd=str(tmp_path), mcpServers=[])["result"]["sessionId"]

    assert agent.say(fork, "what is my name?") == "Your name is Ada."
    listed = agent.call("session/list", cwd=str(tmp_path))["result"]["sessions"]
    assert {entry["sessionId"]: entry["title"] for entry in listed} == {
        session: "my name is Ada",
        fork: "my name is Ada",
    }
    assert agent.call("session/close", sessionId=fork)["result"] == {}
    assert agent.prompt(fork, "hello")["error"]["code"] == -32002
    assert agent.call("session/resume", sessionId=fork, cwd=str(tmp_path), mcpServers=[])["result"]
    assert agent.say(fork, "hello") == "You said: hello"


def test_a_request_that_no_agent_knows_is_refused(agent: RawClient):
    assert agent.call("session/dance")["error"]["code"] == -32601
    assert agent.call("_session/dance")["error"]["code"] == -32601
    assert agent.call("session/prompt")["error"]["code"] == -32602
