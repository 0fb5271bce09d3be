"""A session of an ACP agent: opened, resumed or loaded, without the history that the agent repeats."""

from pathlib import Path
from typing import Any, cast

import pytest

from fairlead.core.engine import ForkOrigin, ResumeKeyFound, TextDelta, ToolStarted, TurnEnded
from fairlead.errors import Code
from fairlead.runtimes.acp import session as session_module
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.session import AgentSession
from tests.runtimes.acp.harness import AcpStage, Talk
from tests.support.runtime_contract import closing, only

pytestmark = pytest.mark.req("B4", "B5")

WAYS = {
    "resume": {"capabilities": "load,resume"},
    "resume that repeats some of the history": {"capabilities": "load,resume", "resume_replays": 8},
    "load": {"capabilities": "load"},
    "load with the history after the response": {"capabilities": "load", "replay": "after", "name": "gemini-cli"},
    "load without the history": {"capabilities": "load", "replay": "none"},
}


@pytest.mark.anyio
@pytest.mark.parametrize("way", WAYS)
async def test_a_session_goes_on_and_its_history_is_no_answer(tmp_path: Path, way: str):
    stage = AcpStage(tmp_path, **WAYS[way])
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("my name is Bob\ntool: execute ls\nthink: hm\nplan: a | b")
        first = talk.key
        await runtime.end_session("s", "stop")
        events = await talk.say("what is my name?")
    assert events[-1] == TurnEnded("Your name is Bob.")
    assert "".join(event.text for event in only(TextDelta, events)) == "Your name is Bob."
    assert (only(ToolStarted, events), talk.key) == ([], first)
    asked = [note["method"] for note in stage.noted("request") if note["method"].startswith("session/")]
    opened_by = "session/resume" if way.startswith("resume") else "session/load"
    assert asked == ["session/new", "session/prompt", opened_by, "session/prompt"]


@pytest.mark.anyio
async def test_where_resume_is_offered_and_not_there_the_session_is_loaded(tmp_path: Path):
    stage = AcpStage(tmp_path, on={"session/resume": "error -32601 Method not found"})
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("my name is Bob")
        await runtime.end_session("s", "stop")
        assert await talk.answer("what is my name?") == "Your name is Bob."
    assert len(stage.noted("request", "session/load")) == 1


@pytest.mark.anyio
@pytest.mark.req("F7")
async def test_a_fork_begins_with_what_was_said_and_both_go_on_by_themselves(tmp_path: Path):
    stage = AcpStage(tmp_path, capabilities="load,resume,fork")
    async with closing(stage.runtime()) as runtime:
        talk, forked = Talk(stage, runtime), Talk(stage, runtime, "forked")
        await talk.answer("my name is Bob")
        origin = ForkOrigin(talk.key or "")
        assert await forked.answer("what is my name?", fork=origin) == "Your name is Bob."
        await forked.answer("my colour is green", fork=origin)
        await runtime.end_session("forked", "stop")
        assert await forked.answer("what is my colour?", fork=origin) == "Your colour is green."
        assert await talk.answer("what is my colour?") == "I do not know your colour."
    assert forked.key not in {None, talk.key}
    assert len(stage.noted("request", "session/fork")) == 1


@pytest.mark.anyio
@pytest.mark.req("F7")
@pytest.mark.parametrize(
    ("switches", "code"),
    [
        ({"capabilities": "load,resume"}, Code.E_FORK_UNAVAILABLE),
        ({"on": {"session/fork": "error -32602 Session not found: x"}}, Code.E_RESUME_GONE),
    ],
)
async def test_a_fork_that_cannot_be_made_begins_no_empty_talk(tmp_path: Path, switches: dict[str, Any], code: Code):
    stage = AcpStage(tmp_path, **{"capabilities": "load,resume,fork"} | switches)
    async with closing(stage.runtime()) as runtime:
        failed = await Talk(stage, runtime).failure("hello", fork=ForkOrigin("a-talk"))
    assert failed.code is code
    assert stage.noted("request", "session/new") == []


@pytest.mark.anyio
async def test_an_agent_that_cannot_go_on_with_a_session_says_so_and_begins_no_other(tmp_path: Path):
    stage = AcpStage(tmp_path, capabilities="image")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("my name is Bob")
        await runtime.end_session("s", "stop")
        failure = await talk.failure("what is my name?")
        assert failure.code is Code.E_RESUME_GONE
        assert talk.processes() == []
    assert len(stage.noted("request", "session/new")) == 1


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("refusal", "code", "is_transient"),
    [
        ("error -32002 Resource not found: abc", Code.E_RESUME_GONE, False),
        ("error -32603 Internal error: No previous sessions found for this project.", Code.E_RESUME_GONE, False),
        ("error -32602 Invalid params", Code.E_RESUME_GONE, False),
        ("error -32603 API error: 429 too many requests", Code.E_AGENT_ERROR, True),
        ("error -32603 fetch failed: ECONNREFUSED", Code.E_AGENT_ERROR, True),
        ("error -32000 Authentication required", Code.E_CLI_NOT_LOGGED_IN, False),
    ],
)
async def test_a_talk_is_gone_only_if_the_agent_does_not_know_it(
    tmp_path: Path, refusal: str, code: Code, *, is_transient: bool
):
    stage = AcpStage(tmp_path, capabilities="load", on={"session/load": refusal})
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("hello")
        await runtime.end_session("s", "stop")
        failure = await talk.failure("hello")
    assert (failure.code, failure.transient) == (code, is_transient)
    assert refusal.split(" ", 2)[2] in failure.message


@pytest.mark.anyio
async def test_a_session_is_opened_in_the_directory_of_the_project_with_no_servers(tmp_path: Path):
    stage = AcpStage(tmp_path)
    async with closing(stage.runtime()) as runtime:
        events = await Talk(stage, runtime).say("which session?")
    [opened] = stage.noted("request", "session/new")
    assert opened["params"] == {"cwd": str(tmp_path / "project"), "mcpServers": []}
    [found] = only(ResumeKeyFound, events)
    assert events[-1] == TurnEnded(f"session={found.key}")


@pytest.mark.anyio
async def test_an_agent_that_wants_a_login_tells_the_command_to_type(tmp_path: Path):
    login = tmp_path / "logged-in"
    stage = AcpStage(tmp_path, auth="required", login=login)
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        failure = await talk.failure("hello")
        assert failure.code is Code.E_CLI_NOT_LOGGED_IN
        assert failure.message == f"Authentication required\n- Log in: run `{stage.command} login`"
        assert talk.processes() == []
        login.touch()
        assert await talk.answer("hello") == "You said: hello"


@pytest.mark.anyio
async def test_a_session_that_is_never_opened_ends_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    stage = AcpStage(tmp_path, new="hangs")
    monkeypatch.setattr(session_module, "OPEN_SEC", 0.05)
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        failure = await talk.failure("hello")
        assert failure.code is Code.E_ACP_TIMEOUT
        assert talk.processes() == []


@pytest.mark.anyio
async def test_an_agent_that_names_no_session_is_refused(tmp_path: Path):
    class Nameless:
        async def new_session(self, cwd: str, *_: object) -> wire.SessionOpened:
            del cwd
            return wire.SessionOpened()

    session = AgentSession(("agent",), str(tmp_path), {})
    with pytest.raises(session_module.AgentGone) as gone:
        await session.open(cast("Any", Nameless()), None)
    assert gone.value.failure.code is Code.E_ADAPTER_SESSION_KEY_MISSING


@pytest.mark.anyio
async def test_a_model_that_the_agent_takes_without_having_listed_any_is_chosen(tmp_path: Path):
    """Copilot does so where the person brings the provider."""

    class Taking:
        def __init__(self) -> None:
            self.asked_for: list[str] = []

        async def set_model(self, session_id: str, model: str) -> None:
            del session_id
            self.asked_for.append(model)

    session, agent = AgentSession(("agent",), str(tmp_path), {}), Taking()
    for _ in range(2):
        assert await session.choose(cast("Any", agent), "gpt-5", "") == []
    assert (agent.asked_for, session.translator.facts.model) == (["gpt-5"], "gpt-5")
