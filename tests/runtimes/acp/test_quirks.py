"""What agents do differently: each quirk of the table has a test of its name, with an agent that has the quirk."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from fairlead.core.engine import (
    INTERRUPTED,
    EngineEvent,
    ForkOrigin,
    PermissionRequested,
    PointReached,
    SetMode,
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.kit.processes import Grace
from fairlead.runtimes.acp import runtime as runtime_module
from fairlead.runtimes.acp import session as session_module
from fairlead.runtimes.acp import turn_ends, wire
from fairlead.runtimes.acp.quirks import HANDLED_FOR_ALL, PLAIN, Quirks, quirks_of
from fairlead.runtimes.acp.runtime import AcpRuntime
from fairlead.runtimes.acp.session import AgentSession
from fairlead.testing.clock import run_virtually
from tests.runtimes.acp.harness import AcpStage, Talk, deny
from tests.support.runtime_contract import closing, only
from tests.support.scripted_acp.switches import REAL_AGENTS

pytestmark = pytest.mark.req("B4")

KEY = "0a1b2c3d-2222-3333-4444-555555555555"


def test_every_quirk_has_a_test_of_its_name():
    names = {*HANDLED_FOR_ALL, *(field.name for field in msgspec.structs.fields(Quirks))}
    files = Path(__file__).parent.glob("test_*.py")
    tested = {test for file in files for test in re.findall(r"def test_(\w+)\(", file.read_text(encoding="utf-8"))}
    assert {name for name in names if not any(test.startswith(name) for test in tested)} == set()


def test_an_agent_that_nobody_has_tried_has_no_quirk_and_the_scripted_ones_are_those_of_the_table():
    assert quirks_of("brand-new") == quirks_of("") == PLAIN == Quirks()
    known = {like for like, switches in REAL_AGENTS.items() if quirks_of(switches["name"]) != PLAIN}
    assert known == set(REAL_AGENTS)


async def turns(tmp_path: Path, like: str, *prompts: str, **switches: Any) -> list[list[EngineEvent]]:
    stage = AcpStage(tmp_path, like=like, **switches)
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        return [await talk.say(prompt) for prompt in prompts]


# --- modes and permissions -------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("like", "switches", "mode"),
    [
        ("codex", {}, "workspace-write"),
        ("qwen", {"modes": "auto,default,plan,auto-edit,yolo"}, "default"),
    ],
)
async def test_start_mode(tmp_path: Path, like: str, switches: dict[str, Any], mode: str):
    """Codex starts in a mode in which it never asks, Qwen in one in which it reads every file without asking. A person
    may choose another one."""
    stage = AcpStage(tmp_path, like=like, **switches)
    async with closing(stage.runtime()) as runtime:
        assert isinstance(runtime, AcpRuntime)
        talk = Talk(stage, runtime)
        assert await talk.answer("which mode?") == f"mode={mode}"
        its_own = {"codex": "agent", "qwen": "auto"}[like]
        await runtime.instruct(talk.name, SetMode(its_own, workspace_path=str(tmp_path / "workspace")))
        assert await talk.answer("which mode?") == f"mode={its_own}"


@pytest.mark.anyio
async def test_strict_mode(tmp_path: Path):
    """Codex asks before every change in one mode alone."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "PERMISSIONS.json").write_text('{"tier": "readonly"}')
    [events] = await turns(tmp_path, "codex", "which mode?")
    assert events[-1] == TurnEnded("mode=read-only")


@pytest.mark.anyio
async def test_narrow_allow(tmp_path: Path):
    """Qwen offers two ways to allow once, of which one changes its mode."""
    [events] = await turns(tmp_path, "qwen", "ask: [qwen-auto] execute rm a")
    assert [ask.detail for ask in only(PermissionRequested, events)] == ["rm a"]
    assert events[-1] == TurnEnded("Chose proceed_once")


@pytest.mark.anyio
@pytest.mark.parametrize("like", ["codex", "claude"])
async def test_rejection_cancels(tmp_path: Path, like: str):
    """Codex ends a turn as cancelled when a tool is refused, Claude when a plan is: that is an answer, and no
    interruption."""
    stage = AcpStage(tmp_path, like=like, rejected="cancelled")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        events = await talk.say("say: I try.\nask: execute rm a", deny)
        assert events[-1] == TurnEnded("I try.", turn_ends.REFUSED)
        events = await talk.say("ask: execute rm a", deny)
        assert events[-1] == TurnEnded("The agent stopped, because it was denied permission.", turn_ends.REFUSED)
        assert await talk.answer("hello") == "You said: hello"


@pytest.mark.anyio
@pytest.mark.parametrize("like", REAL_AGENTS)
async def test_a_refused_tool_ends_the_turn_in_order_however_the_agent_shows_it(tmp_path: Path, like: str):
    stage = AcpStage(tmp_path, like=like)
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        events = await talk.say("ask: execute rm a", deny)
        assert isinstance(events[-1], TurnEnded)
        assert events[-1].stop_reason != INTERRUPTED
        assert await talk.answer("hello") == "You said: hello"


@pytest.mark.anyio
async def test_a_refusal_has_no_words(tmp_path: Path):
    """The runtime says so, and the flow gives the person's words as the next message (`test_standing_rules`)."""
    stage = AcpStage(tmp_path)
    async with closing(stage.runtime()) as runtime:
        assert runtime.capabilities.refusal_words is False
        events = await Talk(stage, runtime).say("ask: execute rm a", lambda ask: deny(ask, message="use make clean"))
        assert "make clean" not in str(events)


@pytest.mark.anyio
async def test_no_tool_call_before_a_permission(tmp_path: Path):
    """Gemini asks for a tool that it has not named, and names it when it ends; of a refused one it says nothing."""
    stage = AcpStage(tmp_path, like="gemini")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        events = await talk.say("ask: execute rm a")
        shown = [event for event in events if isinstance(event, PermissionRequested | ToolStarted | ToolEnded)]
        assert [type(event) for event in shown] == [PermissionRequested, ToolStarted, ToolEnded]
        refused = await talk.say("ask: execute rm a", deny)
        assert only(ToolStarted, refused) == only(ToolEnded, refused) == []


# --- forks -----------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.req("F7")
async def test_forks_at_message(tmp_path: Path):
    """Claude's and Codex's agents name their messages, and can keep a talk up to one of them."""
    stage = AcpStage(tmp_path, like="claude", capabilities="load,resume,fork")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        [reached] = only(PointReached, await talk.say("my name is Bob"))
        await talk.answer("say: more", fork=ForkOrigin(talk.key or "", reached.point), resume_key=None)
        assert runtime.capabilities.fork_points
    [forked] = stage.noted("request", "session/fork")
    assert forked["params"]["_meta"] == {"jetbrains": {"air": {"fork": {"version": 1, "messageId": reached.point}}}}


# --- prompts ---------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("like", ["gemini", "copilot", "qwen", "opencode"])
async def test_a_second_prompt_harms_the_first(tmp_path: Path, like: str):
    """Agents cancel the first prompt, fail it or keep its response: so the next one waits for the response."""
    stage = AcpStage(tmp_path, like=like)
    slowly = stage.fifo("slowly")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("my name is Bob")
        working = talk.begin(f"cancel-slowly: {slowly}")
        await stage.until_noted("request", "session/prompt", times=2)
        await talk.interrupt()
        await talk.until_said("Stopping.")
        assert (talk.state, working.done()) == ("Prompting", False)
        await slowly.open()
        assert (await working)[-1] == TurnEnded("Stopping.", INTERRUPTED)
        assert await talk.answer("what is my name?") == "Your name is Bob."


@pytest.mark.anyio
async def test_mode_message(tmp_path: Path):
    """Gemini says its new mode in a message, in a turn or outside of one: that is no answer, and begins no turn."""
    stage = AcpStage(tmp_path, like="gemini")
    fifo = stage.fifo("in-turn")
    async with closing(stage.runtime()) as runtime:
        assert isinstance(runtime, AcpRuntime)
        own_turns = runtime.watch_agent_turns()
        talk = Talk(stage, runtime)
        assert await talk.answer("hello") == "You said: hello"
        await runtime.instruct("s", SetMode("plan", str(tmp_path / "workspace")))
        assert await talk.answer("which mode?") == "mode=plan"

        working = talk.begin(f"say: before\nhold: {fifo}")
        await talk.until_said("before")
        await runtime.instruct("s", SetMode("yolo", str(tmp_path / "workspace")))
        await fifo.open()
        assert (await working)[-1] == TurnEnded("before")
        assert runtime.describe("s").mode == "yolo"

        assert await talk.answer(f"unasked: {fifo} by itself\nquiet") == ""
        await fifo.open()
        assert (await anext(own_turns)).event == TextDelta("by itself"), "the first turn of its own"


@pytest.mark.anyio
async def test_modes_are_addresses(tmp_path: Path):
    """Copilot's modes are addresses, of which people read and type the last word."""
    stage = AcpStage(tmp_path, like="copilot")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("hello")
        assert runtime.describe("s").modes == ("agent", "plan", "autopilot")
        await runtime.instruct("s", runtime_module.SetMode("plan", str(tmp_path / "workspace")))
        assert (await talk.answer("which mode?")).endswith("session-modes#plan")
        assert runtime.describe("s").mode == "plan"


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_an_api_error_is_an_error_and_a_text(tmp_path: Path):
    """Claude says the error in a message and then fails with it."""
    [events, after] = await turns(
        tmp_path, "claude", "say: so far\nerror-said: -32603 API Error: 529 overloaded", "hello"
    )
    assert isinstance(events[-1], TurnFailed)
    assert (events[-1].code, events[-1].transient) == (Code.E_AGENT_ERROR, True)
    assert "529 overloaded" in events[-1].message
    assert events[-1].text == "so far", "the error is told once"
    assert after[-1] == TurnEnded("You said: hello")


def test_error_text():
    """The text of a turn that ends well is an error of the model."""
    quirks = Quirks(error_text=r"API error: \d+")
    ways = {"is_interrupted": False, "has_refused": False}
    [failed] = turn_ends.end_of(wire.Prompted("end_turn"), "API error: 429 too many requests", quirks, **ways)
    assert isinstance(failed, TurnFailed)
    assert (failed.code, failed.transient) == (Code.E_AGENT_ERROR, True)
    [ended] = turn_ends.end_of(wire.Prompted("end_turn"), "All is well.", quirks, **ways)
    assert ended == TurnEnded("All is well.")


# --- usage -----------------------------------------------------------------------------------------------------------


def tokens_in(events: list[EngineEvent]) -> list[tuple[int, int, int]]:
    return [(one.input_tokens, one.output_tokens, one.cached_tokens) for one in only(UsageReported, events)]


@pytest.mark.anyio
@pytest.mark.parametrize("like", ["claude", "codex", "copilot", "hermes", "opencode"])
async def test_usage(tmp_path: Path, like: str):
    """Of the turn (Claude, Codex), of the process or the session so far (Copilot, Hermes), of the last request."""
    first, second = await turns(tmp_path, like, "usage: 100 20 5", "usage: 300 40 5")
    assert tokens_in(first) == [(100, 20, 5)]
    assert tokens_in(second) == [(300, 40, 5)]


@pytest.mark.anyio
async def test_usage_of_the_last_request_alone(tmp_path: Path):
    """OpenCode counts one request of several: that is all that can be told."""
    [events] = await turns(tmp_path, "opencode", "tool: execute ls\ntool: execute ls\nsay: done")
    [(tokens, _, _)] = tokens_in(events)
    assert tokens == 100


@pytest.mark.anyio
async def test_usage_of_a_session_that_was_resumed(tmp_path: Path):
    """Hermes counts the whole session, also when it is resumed: what it had used before is not counted again, and what
    it had used before this Fairlead was started is nobody's turn."""
    stage = AcpStage(tmp_path, like="hermes")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.say("usage: 1000 200")
        await runtime.end_session("s", "stop")
        assert tokens_in(await talk.say("usage: 100 20")) == [(100, 20, 0)]
    async with closing(stage.runtime()) as runtime:
        later = Talk(stage, runtime)
        later.key = talk.key
        assert tokens_in(await later.say("usage: 100 20")) == []
        assert tokens_in(await later.say("usage: 100 20")) == [(100, 20, 0)]


@pytest.mark.anyio
async def test_usage_the_first_turn_of_a_resumed_session_has_its_cost(tmp_path: Path):
    """Claude counts what a session costs over all its processes."""
    stage = AcpStage(tmp_path, like="claude")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        costs: list[float] = []
        for _ in range(3):
            costs += [one.cost_usd for one in only(UsageReported, await talk.say("usage: 1000 200"))]
            await runtime.end_session("s", "stop")
    assert costs == pytest.approx([costs[0]] * 3)
    assert costs[0] > 0


@pytest.mark.anyio
async def test_usage_in_meta_quota(tmp_path: Path):
    """Gemini counts beside the protocol's own field."""
    first, second = await turns(tmp_path, "gemini", "usage: 100 20 5", "usage: 300 40 5")
    assert (tokens_in(first), tokens_in(second)) == ([(100, 20, 0)], [(300, 40, 0)])


@pytest.mark.anyio
async def test_usage_none(tmp_path: Path):
    [events] = await turns(tmp_path, "", "usage: 100 20 5", usage="none")
    assert only(UsageReported, events) == []


# --- the end of a process --------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_the_talk_is_lost_after_sigkill(tmp_path: Path):
    """An agent that writes a talk down when its input ends loses it when it is killed: then the person is told."""
    stage = AcpStage(tmp_path, like="gemini", lost_when_killed=True)
    async with closing(stage.runtime()) as runtime:
        stopped, killed = Talk(stage, runtime, "stopped"), Talk(stage, runtime, "killed")
        await stopped.answer("my name is Bob")
        await killed.answer("my name is Bob")
        await runtime.end_session("stopped", "stop")
        await runtime.end_session("killed", "kill")
        assert await stopped.answer("what is my name?") == "Your name is Bob."
        failure = await killed.failure("what is my name?")
    assert failure.code is Code.E_RESUME_GONE
    assert "no longer knows this conversation" in failure.message
    assert "No previous sessions found" in failure.message


@pytest.mark.anyio
async def test_the_process_hangs_if_stdin_is_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Codex does: so its input stays open while it starts, and after the end of it a signal follows."""
    stage = AcpStage(tmp_path, like="codex", ignore="EOF")
    monkeypatch.setattr(runtime_module, "STOP_GRACE", Grace(end_of_input=0.05, terminate=5.0))
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("hello")
        await runtime.end_session("s", "stop")
        assert talk.processes() == []


@pytest.mark.anyio
async def test_requests_that_no_protocol_has(tmp_path: Path):
    """Qwen asks for `craft/drainMidTurnQueue` after each tool, and goes on when it is refused."""
    stage = AcpStage(tmp_path, like="qwen")
    async with closing(stage.runtime()) as runtime:
        assert await Talk(stage, runtime).answer("tool: execute ls\nsay: done") == "done"
    assert [note["error"]["code"] for note in stage.noted("response") if "error" in note] == [-32601]


# --- a history that comes late ---------------------------------------------------------------------------------------


def opened_after(agent_name: str, history_at: list[float]) -> float:
    """When a prompt may be sent to an agent that repeats the history at these seconds after its response."""

    class Late:
        async def load_session(self, cwd: str, session_id: str, *_: object) -> wire.SessionOpened:
            del cwd, session_id
            for at in history_at:
                asyncio.get_running_loop().call_later(at, session.note_update)
            return wire.SessionOpened()

    session = AgentSession(("agent",), "/", {"HOME": "/nowhere"})
    session.agent = wire.Initialized(agent_capabilities=wire.AgentCapabilities(load_session=True))
    session.quirks = quirks_of(agent_name)

    async def story() -> float:
        await session.open(cast("Any", Late()), KEY)
        return asyncio.get_running_loop().time()

    return round(run_virtually(story()), 3)


def test_settle_sec():
    """The end of the history that an agent repeats is told by silence alone."""
    assert opened_after("unknown", []) == 0.3
    assert opened_after("unknown", [0.1, 0.35, 0.6]) == 0.9


def test_replays_after_loading():
    """Gemini says that a session is loaded, and repeats the history after that."""
    assert opened_after("gemini-cli", [4.0, 4.2, 4.45]) == 4.75
    assert opened_after("gemini-cli", []) == session_module.REPLAY_SEC + 0.3


# --- a session file of this minute -----------------------------------------------------------------------------------

NOON = datetime(2026, 1, 5, 12, 0, 50, tzinfo=UTC)


class Loading:
    """An agent that remembers at which minute its session was loaded."""

    def __init__(self, now: Any) -> None:
        self.loaded_at: list[datetime] = []
        self._now = now

    async def load_session(self, cwd: str, session_id: str, *_: object) -> wire.SessionOpened:
        del cwd, session_id
        self.loaded_at.append(self._now())
        return wire.SessionOpened()


def loaded_at(home: Path) -> datetime:
    """When a session of Gemini's would be loaded, if a person wrote at ten seconds before 12:01."""

    async def story() -> datetime:
        loop = asyncio.get_running_loop()

        def now() -> datetime:
            return NOON + timedelta(seconds=loop.time())

        session = AgentSession(("gemini", "--acp"), str(home), {"HOME": str(home)}, now=now)
        session.agent = wire.Initialized(agent_capabilities=wire.AgentCapabilities(load_session=True))
        session.quirks = quirks_of("gemini-cli")
        agent = Loading(now)
        await session.open(cast("Any", agent), KEY)
        [at] = agent.loaded_at
        return at

    return run_virtually(story())


def chat_file(home: Path, minute: str, key: str = KEY) -> None:
    place = home / ".gemini" / "tmp" / "project" / "chats"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"session-2026-01-05T{minute}-{key[:8]}.jsonl").touch()


def test_session_of_this_minute(tmp_path: Path):
    """Gemini would begin the file of such a session again: it is loaded in the next minute."""
    assert loaded_at(tmp_path) == NOON
    chat_file(tmp_path, "11-59")
    chat_file(tmp_path, "12-00", "another0")
    assert loaded_at(tmp_path) == NOON
    chat_file(tmp_path, "12-00")
    assert loaded_at(tmp_path).strftime("%H:%M") == "12:01"
