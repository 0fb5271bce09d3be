"""The scripted ACP agent can be like each real one, in what was seen of them on the wire; the SDK's schema agrees."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted_acp.raw_client import RawClient, choose, kinds_in, running, words_in
from tests.support.scripted_acp.shim import write_shim
from tests.support.scripted_acp.switches import REAL_AGENTS

AGENTS = ["claude", "codex", "gemini", "opencode", "qwen", "copilot"]
Updates = list[dict[str, Any]]
Told = list[tuple[str, str | None, str | None]]  # kind, status and title of what was told about tools
ALLOWED: dict[str, Told] = {
    "claude": [
        ("tool_call", "pending", "Terminal"),
        ("update", None, "rm a"),
        ("update", None, None),
        ("update", "completed", None),
    ],
    "codex": [("tool_call", "in_progress", "rm a"), ("update", None, None), ("update", "completed", None)],
    "gemini": [("update", "completed", "rm a")],
    "opencode": [
        ("tool_call", "pending", "bash"),
        ("update", "in_progress", "rm a"),
        ("update", "in_progress", "rm a"),
        ("update", "completed", None),
    ],
    "qwen": [("tool_call", "pending", "Shell"), ("update", "completed", None)],
    "copilot": [
        ("tool_call", "pending", "run a test command"),
        ("update", None, None),
        ("update", "completed", None),
    ],
}


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RawClient]]:
    directory, state = tmp_path_factory.mktemp("agents"), tmp_path_factory.mktemp("state")
    with ExitStack() as stack:
        shims = {like: write_shim(directory, like, like=like, bare=True, state=state / like) for like in REAL_AGENTS}
        clients = {like: stack.enter_context(running(shim)) for like, shim in shims.items()}
        for client in clients.values():
            client.initialize()
        yield clients


def begin(client: RawClient) -> str:
    client.answer = {}
    return client.call("session/new", cwd="/tmp", mcpServers=[])["result"]["sessionId"]


def allow_once(params: dict[str, Any]) -> dict[str, Any]:
    option = next(option for option in params["options"] if option["kind"] == "allow_once")
    return choose(option["optionId"])(params)


def reject(params: dict[str, Any]) -> dict[str, Any]:
    option = next(option for option in params["options"] if option["kind"] == "reject_once")
    return choose(option["optionId"])(params)


def tool_updates(updates: Updates) -> Told:
    return [
        (update["sessionUpdate"].removeprefix("tool_call_"), update.get("status"), update.get("title"))
        for update in updates
        if update["sessionUpdate"].startswith("tool_call")
    ]


@pytest.mark.parametrize(("like", "told"), ALLOWED.items())
def test_an_allowed_tool_shows_as_that_agent_shows_it(agents: dict[str, RawClient], like: str, told: Told):
    client = agents[like]
    session = begin(client)
    client.answer["session/request_permission"] = allow_once

    assert client.prompt(session, "ask: rm a")["result"]["stopReason"] == "end_turn"
    assert tool_updates(client.updates(session)) == told


@pytest.mark.parametrize(
    ("like", "stop_reason", "words", "last_status"),
    [
        ("claude", "end_turn", "Chose reject", "failed"),
        ("codex", "cancelled", "", "failed"),
        ("gemini", "end_turn", "Chose cancel", None),
        ("opencode", "end_turn", "", "failed"),
        ("qwen", "end_turn", "", "failed"),
        ("copilot", "end_turn", "Info: Operation cancelled by user", "failed"),
    ],
)
def test_a_refused_tool_ends_as_with_that_agent(
    agents: dict[str, RawClient], like: str, stop_reason: str, words: str, last_status: str | None
):
    client = agents[like]
    session = begin(client)
    client.answer["session/request_permission"] = reject

    assert client.prompt(session, "ask: rm a")["result"]["stopReason"] == stop_reason
    updates = client.updates(session)
    assert words_in(updates) == words
    assert [status for _, status, _ in tool_updates(updates)][-1:] == ([last_status] if last_status else [])


@pytest.mark.parametrize(
    ("like", "last_status", "usage"),
    [
        ("claude", "failed", {}),
        ("codex", "in_progress", {"usage": None}),
        ("gemini", "completed", {}),
        ("qwen", "failed", {}),
        ("copilot", "pending", {}),
    ],
)
def test_a_tool_that_is_cancelled_ends_as_with_that_agent(
    agents: dict[str, RawClient], like: str, last_status: str, usage: dict[str, Any]
):
    client = agents[like]
    session = begin(client)
    request = client.begin_prompt(session, "tool-open: execute sleep 60\nsay: now\nhang")
    client.until_update("agent_message_chunk")
    client.notify("session/cancel", sessionId=session)

    assert client.response_to(request)["result"] == {"stopReason": "cancelled", **usage}
    assert tool_updates(client.updates(session))[-1][1] == last_status


def test_claude_takes_its_permission_back_when_it_is_cancelled(agents: dict[str, RawClient]):
    client = agents["claude"]
    session = begin(client)
    client.answer["session/request_permission"] = lambda _params: {}  # never answered
    request = client.begin_prompt(session, "ask: rm a")
    asked = client.until(lambda message: message.get("method") == "session/request_permission")
    client.notify("session/cancel", sessionId=session)

    withdrawn = client.until(lambda message: message.get("method") == "$/cancel_request")
    assert withdrawn["params"] == {"requestId": asked["id"]}
    assert client.response_to(request)["result"]["stopReason"] == "cancelled"


def test_gemini_waits_for_the_answer_before_it_is_cancelled(agents: dict[str, RawClient]):
    client = agents["gemini"]
    session = begin(client)
    client.answer["session/request_permission"] = lambda _params: {}
    request = client.begin_prompt(session, "ask: rm a")
    asked = client.until(lambda message: message.get("method") == "session/request_permission")
    client.notify("session/cancel", sessionId=session)
    client.call("session/set_mode", sessionId=session, modeId="yolo")

    assert request not in client.responses
    client.send({"id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}})
    assert client.response_to(request)["result"] == {"stopReason": "cancelled"}


def begin_two_prompts(client: RawClient, directory: Path) -> tuple[str, int, int]:
    """The first turn holds when the second prompt comes, and is let go after it."""
    session = begin(client)
    os.mkfifo(directory / "go")
    first = client.begin_prompt(session, f"hold: {directory / 'go'}\nsay: first")
    with (directory / "go").open("w"):
        second = client.begin_prompt(session, "say: second")
        client.call("session/nothing")  # the agent has seen the second prompt
    return session, first, second


@pytest.mark.parametrize("like", ["claude", "codex"])
def test_a_second_prompt_is_queued(agents: dict[str, RawClient], like: str, tmp_path: Path):
    session, first, second = begin_two_prompts(agents[like], tmp_path)

    assert agents[like].response_to(first)["result"]["stopReason"] == "end_turn"
    assert "second" not in words_in(agents[like].updates(session))
    assert agents[like].response_to(second)["result"]["stopReason"] == "end_turn"


@pytest.mark.parametrize("like", ["gemini", "copilot"])
def test_a_second_prompt_cancels_the_first(agents: dict[str, RawClient], like: str, tmp_path: Path):
    _, first, second = begin_two_prompts(agents[like], tmp_path)

    assert agents[like].response_to(first)["result"]["stopReason"] == "cancelled"
    assert agents[like].response_to(second)["result"]["stopReason"] == "end_turn"


def test_a_second_prompt_makes_qwen_fail_the_first(agents: dict[str, RawClient], tmp_path: Path):
    _, first, second = begin_two_prompts(agents["qwen"], tmp_path)

    assert agents["qwen"].response_to(first)["error"] == {"code": -32603, "message": "Internal error", "data": {}}
    assert agents["qwen"].response_to(second)["result"]["stopReason"] == "end_turn"


def test_opencode_answers_both_prompts_at_the_end(agents: dict[str, RawClient], tmp_path: Path):
    client = agents["opencode"]
    session, first, second = begin_two_prompts(client, tmp_path)

    client.response_to(first)
    assert words_in(client.updates(session)) == "firstsecond"
    assert client.response_to(second)["result"]["stopReason"] == "end_turn"


@pytest.mark.parametrize(
    ("like", "in_first", "in_second"),
    [("claude", 200, 100), ("codex", 200, 100), ("opencode", 100, 100), ("copilot", 200, 300), ("gemini", 0, 0)],
)
def test_usage_is_told_as_that_agent_tells_it(agents: dict[str, RawClient], like: str, in_first: int, in_second: int):
    client = agents[like]
    session = begin(client)

    results = [client.prompt(session, words)["result"] for words in ("tool: execute ls", "hello")]
    windows = [update for update in client.updates(session) if update["sessionUpdate"] == "usage_update"]
    assert [set(window) & {"cost"} for window in windows] == {
        "claude": [{"cost"}, {"cost"}],
        "codex": [set(), set()],
        "opencode": [{"cost"}, {"cost"}],
        "copilot": [set(), set()],
        "gemini": [],
    }[like]
    assert [result.get("usage", {}).get("inputTokens", 0) for result in results] == [in_first, in_second]
    if like in {"claude", "codex", "gemini"}:
        counted = [result["_meta"]["quota"]["token_count"]["input_tokens"] for result in results]
        assert counted == [200, 100]


def test_qwen_tells_its_usage_in_empty_chunks(agents: dict[str, RawClient]):
    client = agents["qwen"]
    session = begin(client)
    result = client.prompt(session, "tool: execute ls")["result"]

    empty = [update for update in client.updates(session) if update.get("content") == {"type": "text", "text": ""}]
    assert [update["_meta"]["usage"]["inputTokens"] for update in empty] == [100, 100]
    assert result == {"stopReason": "end_turn"}
    assert any(message.get("method") == "craft/drainMidTurnQueue" for message in client.heard)


def test_commands_come_before_the_session_is_known_or_in_a_turn(agents: dict[str, RawClient]):
    session = begin(agents["copilot"])
    assert kinds_in(agents["copilot"].updates(session)) == ["available_commands_update"]

    later = agents["qwen"]
    session = begin(later)
    assert later.updates(session) == []
    later.prompt(session, "hello")
    [commands] = [update for update in later.updates(session) if "availableCommands" in update]
    assert len(str(commands)) > 500_000


def test_gemini_says_its_mode_outside_of_a_turn(agents: dict[str, RawClient]):
    client = agents["gemini"]
    session = begin(client)
    client.call("session/set_mode", sessionId=session, modeId="autoEdit")

    assert words_in(client.updates(session)) == "[MODE_UPDATE] autoEdit"


@pytest.mark.parametrize(
    ("like", "fields"),
    [
        ("claude", {"modes", "configOptions"}),
        ("codex", {"models", "modes", "configOptions"}),
        ("gemini", {"models", "modes"}),
        ("opencode", {"configOptions"}),
        ("qwen", {"models", "modes", "configOptions"}),
        ("copilot", {"modes", "configOptions"}),
        ("hermes", {"models"}),
    ],
)
def test_settings_are_offered_as_that_agent_offers_them(agents: dict[str, RawClient], like: str, fields: set[str]):
    client = agents[like]
    result = client.call("session/new", cwd="/tmp", mcpServers=[])["result"]

    assert result.keys() - {"sessionId"} == fields
    offered = client.initialize()["result"]["agentCapabilities"].get("sessionCapabilities", {}).keys()
    capabilities = {"gemini": set(), "qwen": {"list", "resume"}, "copilot": {"list", "close"}}
    assert offered == capabilities.get(like, {"list", "resume", "fork", "close"})
    if "models" not in fields:
        refused = client.call("session/set_model", sessionId=result["sessionId"], modelId="x")
        assert refused["error"]["code"] == -32601


def test_everything_that_was_heard_is_what_the_schema_of_the_sdk_says(agents: dict[str, RawClient]):
    from acp.schema import PromptResponse, RequestPermissionRequest, SessionNotification

    models = {"session/update": SessionNotification, "session/request_permission": RequestPermissionRequest}
    for like in AGENTS:
        client = agents[like]
        session = begin(client)
        client.answer["session/request_permission"] = allow_once
        client.heard.clear()
        request = client.begin_prompt(session, "think: hm\nask: rm a\nask: edit a.txt\ntool-failed: read b\nhello")
        PromptResponse.model_validate(client.response_to(request)["result"])
        for message in client.heard:
            if message["method"] in models:
                models[message["method"]].model_validate(message["params"])
        assert "tool_call_update" in kinds_in(client.updates(session))
