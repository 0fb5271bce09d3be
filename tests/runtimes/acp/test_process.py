"""One agent misbehaves, in every way that anybody thought of: its own session is told, and no other is disturbed."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.engine import (
    AgentInitiated,
    Diagnostic,
    EngineEvent,
    Noticed,
    PermissionRequested,
    PlanProposed,
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.runtimes import cli_turn
from fairlead.runtimes.acp.runtime import AcpRuntime
from tests.runtimes.acp.harness import AcpStage, JumpingClock, Talk, allow, beside_another, choose, until
from tests.support.runtime_contract import closing, only

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4", "B5", "E8")]


@pytest.fixture
def stage(tmp_path: Path) -> AcpStage:
    return AcpStage(tmp_path)


async def pid_of(talk: Talk) -> int:
    return int((await talk.answer("which pid?")).removeprefix("pid="))


# --- in the middle of a turn -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ("exit: 3 out of memory", "ended with exit code 3: out of memory"),
        ("exit: 0", "ended with exit code 0"),
        ("cut: 4", "ended with exit code 4"),
    ],
)
async def test_an_agent_that_exits_in_the_middle_of_a_turn(stage: AcpStage, order: str, words: str):
    async with beside_another(stage) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("my name is Bob")
        failure = await talk.failure(f"say: so far\n{order}")
        assert (failure.code, failure.text) == (Code.E_CLI_EXIT_NONZERO, "so far")
        assert words in failure.message
        assert (talk.state, talk.processes()) == ("Closed", [])
        assert await talk.answer("what is my name?") == "Your name is Bob."


async def test_an_agent_that_is_killed_in_the_middle_of_a_turn(stage: AcpStage):
    async with beside_another(stage) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("my name is Bob")
        pid = await pid_of(talk)
        working = talk.begin("say: so far\nhang")
        await talk.until_said("so far")
        os.kill(pid, signal.SIGKILL)
        last = (await working)[-1]
        assert isinstance(last, TurnFailed)
        assert (last.code, last.text) == (Code.E_CLI_EXIT_NONZERO, "so far")
        assert "was ended by signal 9" in last.message
        assert await talk.answer("what is my name?") == "Your name is Bob."


async def test_an_idle_agent_that_is_killed_is_closed_and_comes_back(stage: AcpStage):
    async with beside_another(stage) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("my name is Bob")
        os.kill(await pid_of(talk), signal.SIGKILL)
        await until(lambda: talk.state == "Closed")
        assert await talk.answer("what is my name?") == "Your name is Bob."


async def test_an_agent_that_dies_while_a_person_is_asked(stage: AcpStage):
    async with beside_another(stage) as runtime:
        talk = Talk(stage, runtime)
        pid = await pid_of(talk)

        def kill_it(ask: Any) -> Any:
            os.kill(pid, signal.SIGKILL)
            return allow(ask)

        assert (await talk.failure("ask: execute rm a", kill_it)).code is Code.E_CLI_EXIT_NONZERO
        assert await talk.answer("hello") == "You said: hello"


async def test_an_agent_that_closes_its_output_and_stays(stage: AcpStage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cli_turn, "EXIT_PATIENCE", 0.05)
    async with beside_another(stage) as runtime:
        talk = Talk(stage, runtime)
        failure = await talk.failure("close-stdout\nhang")
        assert failure.code is Code.E_CLI_EXIT_NONZERO
        assert talk.processes() == []
        assert await talk.answer("hello") == "You said: hello"


async def test_garbage_before_and_between_the_lines_is_kept_and_changes_nothing(stage: AcpStage):
    stage.write(garbage=True)
    async with beside_another(stage) as runtime:
        events = await Talk(stage, runtime).say("garbage\nsay: all the same\ngarbage")
    assert events[-1] == TurnEnded("all the same")
    kept = [event.text for event in only(Diagnostic, events)]
    assert any("not a JSON object: []" in words for words in kept)
    assert any("a request that was not sent" in words for words in kept)


@pytest.mark.parametrize(
    "order",
    [
        'raw: {"jsonrpc": "2.0", "id": 987654, "result": {"stopReason": "end_turn"}}',
        'raw: {"jsonrpc": "2.0", "id": "nobody", "error": {"code": -32603, "message": "odd"}}',
        "respond-twice",
        "unknown",
        'raw: {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "SESSION"}}',
        'update: {"sessionUpdate": "from_the_future", "more": [1, 2]}',
    ],
)
async def test_what_means_nothing_is_kept_and_the_turn_goes_on(stage: AcpStage, order: str):
    async with beside_another(stage) as runtime:
        talk = Talk(stage, runtime)
        events = await talk.say(f"say: one\n{order}\nsay: two")
        assert events[-1] == TurnEnded("one\n\ntwo")
        assert only(Diagnostic, events) or order == "respond-twice"
        assert await talk.answer("hello") == "You said: hello"


async def test_an_update_of_another_session_is_no_part_of_this_one(stage: AcpStage):
    update = '{"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "not yours"}}'
    line = '{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "x", "update": ' + update + "}}"
    async with closing(stage.runtime()) as runtime:
        events = await Talk(stage, runtime).say(f"raw: {line}\nsay: mine")
    assert events[-1] == TurnEnded("mine")
    assert "another session, x" in only(Diagnostic, events)[0].text


async def test_an_unknown_stop_reason_is_kept_and_the_answer_with_it(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        events = await talk.say("say: done\nstop: tired")
        assert events[-1] == TurnEnded("done", "tired")
        assert "'tired'" in only(Diagnostic, events)[0].text
        assert await talk.answer("hello") == "You said: hello"


async def test_a_flood_of_updates_arrives_whole_and_in_order(stage: AcpStage):
    async with beside_another(stage) as runtime:
        events = await Talk(stage, runtime).say("flood: 100000")
    assert isinstance(events[-1], TurnEnded)
    assert events[-1].text == "".join(f"w{number} " for number in range(100_000)).strip()
    assert len(only(TextDelta, events)) == 100_000


async def test_an_update_of_fifty_megabytes_arrives_and_one_over_the_limit_is_told(stage: AcpStage):
    async with beside_another(stage) as runtime:
        talk = Talk(stage, runtime)
        events = await talk.say("big: 50")
        assert isinstance(events[-1], TurnEnded)
        assert len(events[-1].text) > 49_000_000
        events = await talk.say("big: 60 tool\nsay: read")
        assert events[-1] == TurnEnded("read")
        assert len(only(ToolEnded, events)) == 1
        events = await talk.say("big: 70\nsay: after")
        assert events[-1] == TurnEnded("after")
        assert "too long a line, which was left out" in only(Noticed, events)[0].text
        assert await talk.answer("hello") == "You said: hello"


# --- the watchdog ----------------------------------------------------------------------------------------------------


class Watched:
    """A turn on a clock that the test moves: nothing in it waits for the test's own patience."""

    def __init__(self, talk: Talk, clock: JumpingClock) -> None:
        self.talk = talk
        self.clock = clock
        self.events: list[EngineEvent] = []
        self._reading: asyncio.Task[None] | None = None

    def begin(self, prompt: str) -> None:
        self.events.clear()
        self._reading = asyncio.create_task(self._read(prompt))

    async def _read(self, prompt: str) -> None:
        async with aclosing(self.talk.runtime.invoke(self.talk.turn(prompt))) as stream:
            async for event in stream:
                self.events.append(event)

    async def until_said(self, text: str) -> None:
        await until(lambda: text in "".join(event.text for event in only(TextDelta, self.events)))

    async def until_ended(self) -> EngineEvent:
        assert self._reading is not None
        await until(self._reading.done)
        return self.events[-1]

    @property
    def goes_on(self) -> bool:
        assert self._reading is not None
        return not self._reading.done() and self.talk.state == "Prompting"


@asynccontextmanager
async def watched(stage: AcpStage) -> AsyncIterator[Watched]:
    clock = JumpingClock()
    try:
        async with closing(stage.runtime()) as runtime:
            assert isinstance(runtime, AcpRuntime)
            yield Watched(Talk(stage, runtime), clock)
    finally:
        clock.back_to_normal()


MINUTE = 60.0


@pytest.mark.req("B6")
async def test_an_agent_that_is_silent_for_half_an_hour_is_ended_and_comes_back(stage: AcpStage):
    async with watched(stage) as turn:
        await turn.talk.answer("my name is Bob")
        turn.begin("say: so far\nhang")
        await turn.until_said("so far")
        await turn.clock.jump(29 * MINUTE)
        assert turn.goes_on
        await turn.clock.jump(2 * MINUTE)
        words = "The agent sent no update for 30 minutes, so its session was ended."
        assert await turn.until_ended() == TurnFailed(Code.E_ACP_TIMEOUT, words, "so far")
        assert (turn.talk.state, turn.talk.processes()) == ("Closed", [])
        assert await turn.talk.answer("what is my name?") == "Your name is Bob."


@pytest.mark.req("B6")
@pytest.mark.parametrize("order", ["say: busy", "unknown", "context: 5 10", "think: hm", "tool: execute ls"])
async def test_every_update_resets_the_watchdog(stage: AcpStage, order: str):
    stage.write(commands="")
    fifos = [stage.fifo(name) for name in "abc"]
    async with watched(stage) as turn:
        turn.begin("\n".join(f"hold: {fifo}\n{order}\nstderr: did {fifo}" for fifo in fifos) + "\nsay: done")
        await stage.until_noted("request", "session/prompt")
        printed = stage.logs.of_job["job_s_1"].stderr
        for fifo in fifos:
            await turn.clock.jump(25 * MINUTE)
            assert turn.goes_on, turn.events
            await fifo.open()
            await until(lambda fifo=fifo: f"did {fifo}\n".encode() in printed)
        last = await turn.until_ended()
        assert isinstance(last, TurnEnded)
        assert last.text.endswith("done")


@pytest.mark.req("B6")
async def test_the_watchdog_does_not_count_while_a_person_is_asked(stage: AcpStage):
    async with watched(stage) as turn:
        turn.begin("ask: execute rm a\nhang")
        await until(lambda: only(PermissionRequested, turn.events))
        await turn.clock.jump(600 * MINUTE)
        assert turn.goes_on
        await turn.talk.runtime.instruct("s", allow(only(PermissionRequested, turn.events)[0]))
        await turn.until_said("Chose once")
        await turn.clock.jump(29 * MINUTE)
        assert turn.goes_on
        await turn.clock.jump(2 * MINUTE)
        last = await turn.until_ended()
        assert isinstance(last, TurnFailed)
        assert last.code is Code.E_ACP_TIMEOUT


@pytest.mark.req("B6")
async def test_the_watchdog_is_a_setting(stage: AcpStage):
    async with closing(stage.runtime(watchdog_sec=0.05)) as runtime:
        talk = Talk(stage, runtime)
        failure = await talk.failure("hang")
        assert failure.code is Code.E_ACP_TIMEOUT
        assert "0.05 s" in failure.message
        assert talk.processes() == []


@pytest.mark.req("B6")
async def test_an_agent_that_is_silent_in_a_turn_of_its_own_is_ended_and_its_conversation_told(stage: AcpStage):
    fifo = stage.fifo("unasked")
    async with watched(stage) as turn:
        heard: list[AgentInitiated] = []

        async def listen() -> None:
            async for initiated in turn.talk.runtime.watch_agent_turns():
                heard.append(initiated)  # noqa: PERF401 - the stream has no end

        listening = asyncio.create_task(listen())
        await turn.talk.answer(f"my name is Bob\nunasked-tool: {fifo} execute sleep")
        await fifo.open()
        await until(lambda: heard)
        await turn.clock.jump(29 * MINUTE)
        assert turn.talk.state == "Active"
        await turn.clock.jump(2 * MINUTE)
        await until(lambda: isinstance(heard[-1].event, TurnFailed))
        words = "The agent sent no update for 30 minutes, so its session was ended."
        assert (heard[-1].session_key, heard[-1].event) == ("s", TurnFailed(Code.E_ACP_TIMEOUT, words))
        await turn.talk.until_gone()
        listening.cancel()
        assert await turn.talk.answer("what is my name?") == "Your name is Bob."


# --- what only some agents do ----------------------------------------------------------------------------------------


async def test_tools_outlive_cancel_so_the_agent_is_ended_and_its_session_is_resumed(tmp_path: Path):
    stage = AcpStage(tmp_path, like="codex", name="@agentclientprotocol/codex-acp")
    async with closing(stage.runtime()) as runtime:
        assert isinstance(runtime, AcpRuntime)
        talk = Talk(stage, runtime)
        before = await pid_of(talk)
        turn = talk.begin("say: now\ntool-open: execute sleep 60\nhang")
        await talk.until_heard(lambda event: isinstance(event, ToolStarted))
        await talk.interrupt()
        assert (await turn)[-1] == TurnEnded("now", "interrupted")
        assert (talk.processes(), talk.state) == ([], "Closed")
        assert await pid_of(talk) != before

        kept = await pid_of(talk)
        turn = talk.begin("say: without a tool\nhang")
        await talk.until_said("without a tool")
        await talk.interrupt()
        await turn
        assert await pid_of(talk) == kept


async def test_error_mark_a_turn_in_which_codex_tells_an_error_has_failed(tmp_path: Path):
    stage = AcpStage(tmp_path, like="codex", name="@agentclientprotocol/codex-acp")
    async with closing(stage.runtime()) as runtime:
        assert isinstance(runtime, AcpRuntime)
        talk = Talk(stage, runtime)
        failed = await talk.failure("say: Let me see.\nerror-told: exceeded retry limit, last status: 429 Too Many")
        assert (failed.code, failed.text, failed.transient) == (Code.E_AGENT_ERROR, "Let me see.", True)
        assert failed.message == "exceeded retry limit, last status: 429 Too Many"
        assert await talk.answer("say: well again") == "well again"


async def test_usage_process_a_loaded_session_counts_from_zero(tmp_path: Path):
    stage = AcpStage(tmp_path, like="copilot", name="Copilot")
    async with closing(stage.runtime()) as runtime:
        assert isinstance(runtime, AcpRuntime)
        talk = Talk(stage, runtime)
        turns = [await talk.say("usage: 10 1"), await talk.say("usage: 20 2")]
        await runtime.end_session(talk.name, "stop")
        turns += [await talk.say("usage: 30 3"), await talk.say("usage: 40 4")]
    spent = [report for events in turns for report in only(UsageReported, events)]
    assert [(report.input_tokens, report.output_tokens) for report in spent] == [(10, 1), (20, 2), (30, 3), (40, 4)]


async def test_usage_updates_and_question_meta_of_qwen(tmp_path: Path):
    stage = AcpStage(tmp_path, like="qwen", name="qwen-code")
    async with closing(stage.runtime()) as runtime:
        assert isinstance(runtime, AcpRuntime)
        talk = Talk(stage, runtime)
        [report] = only(UsageReported, await talk.say("tool: execute ls"))
        assert report.input_tokens == 200
        answer = await talk.answer("ask-question: Which colour? | red | blue", choose("blue"))
        assert answer == 'Chose proceed_once {"answers": {"0": "blue"}}'


async def test_a_plan_that_was_shown_with_the_call_is_in_the_question_too(stage: AcpStage):
    """Claude asks "Approve Plan" with an empty content, after it has shown the plan."""
    call = {"toolCallId": "t", "kind": "switch_mode", "title": "Approve Plan"}
    shown = {"type": "content", "content": {"type": "text", "text": "1. look 2. leap"}}
    begun = {"sessionUpdate": "tool_call", "status": "pending", "content": [], **call}
    told = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": [shown]}
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    request = {"sessionId": "SESSION", "toolCall": {**call, "content": []}, "options": options}
    orders = [f"update: {json.dumps(update)}" for update in (begun, told)]
    orders.append(f"call: session/request_permission {json.dumps(request)}")
    async with closing(stage.runtime()) as runtime:
        assert isinstance(runtime, AcpRuntime)
        [asked] = only(PlanProposed, await Talk(stage, runtime).say("\n".join(orders)))
    assert asked.plan == "1. look 2. leap"


async def test_a_diff_that_was_shown_with_the_call_is_in_the_question_too(stage: AcpStage):
    call = {"toolCallId": "t", "kind": "edit", "title": "Edit files"}
    shown = {"type": "diff", "path": "/a", "oldText": None, "newText": "hello"}
    update = {"sessionUpdate": "tool_call", "status": "in_progress", "content": [shown], **call}
    options = [{"optionId": "once", "name": "Yes", "kind": "allow_once"}]
    request = {"sessionId": "SESSION", "toolCall": {**call, "locations": [{"path": "/a"}]}, "options": options}
    orders = f"update: {json.dumps(update)}\ncall: session/request_permission {json.dumps(request)}"
    async with closing(stage.runtime()) as runtime:
        assert isinstance(runtime, AcpRuntime)
        [asked] = only(PermissionRequested, await Talk(stage, runtime).say(orders))
    assert (asked.detail, asked.diff.splitlines()[-1]) == ("/a", "+hello")
