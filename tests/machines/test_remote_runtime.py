"""An agent on another machine, behind the same port as one that is here."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

import msgspec
import pytest

from fairlead.core import engine
from fairlead.core.engine import EngineEvent, Interrupt, Response, Steer
from fairlead.core.ids import JobId
from fairlead.core.machines import messages
from fairlead.core.machines.messages import SentFile
from fairlead.errors import Code
from fairlead.runner.call_handler import RealCallHandler
from fairlead.runner.runtimes import RunnerRuntimes
from fairlead.runtimes.echo import EchoRuntime
from fairlead.store.directories import RealDirectories
from tests.flow.harness import virtually
from tests.machines.harness import GPU, Stage, events_of, invocation

pytestmark = pytest.mark.req("H3")
EVERYTHING = "hi\n/tool Bash make\n/usage 10 5 0.01\n/image\n/long 30"


def lasting(events: list[EngineEvent]) -> list[EngineEvent]:
    """Without the times of the other machine's clock."""
    return [timeless(e) for e in events if not isinstance(e, messages.ONLY_SHOWN)]


def timeless(event: EngineEvent) -> EngineEvent:
    match event:
        case engine.HandingOver():
            return engine.HandingOver()
        case engine.TurnEnded() | engine.TurnFailed():
            return msgspec.structs.replace(event, machine_time="")
        case _:
            return event


@virtually
async def test_a_turn_there_tells_what_the_same_turn_here_tells_and_when_its_agent_had_the_prompt():
    stage = Stage()
    here = await events_of(EchoRuntime(), invocation(EVERYTHING))
    async with stage.daemon() as hub, stage.runner():
        remote = await stage.remote_echo(hub)
        there = await events_of(remote, invocation(EVERYTHING))
    assert lasting(there) == [engine.HandingOver(), *lasting(here)]
    said = "".join(e.text for e in there if isinstance(e, engine.TextDelta))
    # Words that are said with the end are not shown by themselves: the end has the whole text.
    assert said
    assert "".join(e.text for e in here if isinstance(e, engine.TextDelta)).startswith(said)


@virtually
async def test_its_name_has_the_machine_and_its_capabilities_are_those_of_the_agent():
    stage = Stage()
    async with stage.daemon() as hub, stage.runner():
        remote = await stage.remote_echo(hub)
        assert remote.name == "gpu/echo"
        expected = msgspec.structs.replace(EchoRuntime.capabilities, is_remote=True, hand_over="told")
        assert remote.capabilities == expected


@virtually
async def test_a_response_reaches_the_agent_though_the_wire_was_cut_when_it_was_given():
    stage = Stage()
    async with stage.daemon() as hub, stage.runner():
        remote = await stage.remote_echo(hub)
        turn = invocation("hi\n/ask rm -rf build")
        seen: list[EngineEvent] = []
        async with aclosing(remote.invoke(turn)) as stream:
            async for event in stream:
                seen.append(event)
                if isinstance(event, engine.PermissionRequested):
                    stage.server.cut(GPU)
                    await remote.instruct(turn.session_key, Response(request_id=event.request_id, verdict="allow"))
                    asyncio.get_running_loop().call_later(3600, stage.server.mend, GPU)
    assert isinstance(seen[-1], engine.TurnEnded)


@virtually
async def test_a_stream_that_is_closed_leaves_the_turn_running_and_asking_again_goes_on_with_it():
    stage = Stage()
    async with stage.runner():
        async with stage.daemon() as hub:
            remote = await stage.remote_echo(hub)
            async with aclosing(remote.invoke(invocation("hi\n/slow 20"))) as stream:
                async for event in stream:
                    if isinstance(event, engine.HandingOver):
                        break
        stage.records.met.clear()
        async with stage.daemon() as again:
            remote = await stage.remote_echo(again)
            events = await events_of(remote, invocation("hi\n/slow 20", is_asked_again=True))
    assert len([e for e in events if isinstance(e, engine.HandingOver)]) == 1
    assert isinstance(events[-1], engine.TurnEnded)
    assert len([e for e in events if isinstance(e, engine.ResumeKeyFound)]) == 1


@virtually
async def test_a_turn_whose_job_has_ended_is_ended_there_and_forgotten():
    stage = Stage()
    async with stage.daemon() as hub, stage.runner() as runner:
        remote = await stage.remote_echo(hub)
        async with aclosing(remote.invoke(invocation("hi\n/hang"))) as stream:
            async for event in stream:
                if isinstance(event, engine.HandingOver):
                    break
        assert runner.turns.count == 1
        hub.settle(GPU, ["job_1#1", "job_1#2"])
        await asyncio.sleep(1)
        assert runner.turns.count == 0
        next_one = await events_of(remote, invocation("and now?", job="job_2"))
    assert isinstance(next_one[-1], engine.TurnEnded)


@virtually
async def test_an_agent_that_takes_too_long_is_ended_by_its_own_machine_while_nobody_listens():
    stage = Stage()
    async with stage.daemon() as hub, stage.runner():
        remote = await stage.remote_echo(hub)
        listening = asyncio.ensure_future(events_of(remote, invocation("hi\n/hang")))
        await asyncio.sleep(1)
        stage.server.cut("daemon")
        asyncio.get_running_loop().call_later(600, stage.server.mend, "daemon")
        last = (await listening)[-1]
    assert isinstance(last, engine.TurnFailed)
    assert last.code is Code.E_CLI_TIMEOUT


@virtually
async def test_an_interruption_and_further_words_reach_the_turn_that_runs():
    stage = Stage(calls=SteerAnswers())
    async with stage.daemon() as hub, stage.runner():
        remote = await stage.remote_echo(hub)
        turn = invocation("hi\n/hang")
        seen: list[EngineEvent] = []
        async with aclosing(remote.invoke(turn)) as stream:
            async for event in stream:
                seen.append(event)
                if isinstance(event, engine.ModelsOffered):
                    steered = await remote.steer(turn.session_key, Steer(job_id=JobId("job_2"), text="and this"))
                    assert steered.outcome == "taken"
                    await remote.instruct(turn.session_key, Interrupt())
    assert isinstance(seen[-1], engine.TurnEnded)
    assert seen[-1].stop_reason == engine.INTERRUPTED


class SteerAnswers:
    async def handle(self, name: str, args: dict[str, object]) -> object:
        assert name == "steer"
        assert msgspec.convert(args["steer"], Steer).text == "and this"
        return engine.SteerResult("taken")


@virtually
async def test_a_picture_that_the_server_forgot_is_asked_for_again():
    stage = Stage()
    async with stage.daemon() as hub, stage.runner():
        remote = await stage.remote_echo(hub)
        pictures: list[engine.ImageProduced] = []
        async with aclosing(remote.invoke(invocation("hi\n/slow 1\n/image"))) as stream:
            async for event in stream:
                stage.server.blobs.clear()
                if isinstance(event, engine.ImageProduced):
                    pictures.append(event)
    assert len(pictures) == 1
    assert pictures[0].data


@virtually
async def test_a_long_answer_travels_beside_the_frames():
    stage = Stage()
    stage.server.largest_frame = 2048
    async with stage.daemon() as hub, stage.runner():
        remote = await stage.remote_echo(hub)
        there = await events_of(remote, invocation("hi\n/long 3000"))
    assert isinstance(there[-1], engine.TurnEnded)
    assert len(there[-1].text) > stage.server.largest_frame


@pytest.mark.req("H6")
@virtually
async def test_a_runner_whose_disk_is_full_gives_no_prompt_away_and_goes_on_when_there_is_space():
    stage = Stage()
    async with stage.daemon() as hub, stage.runner() as runner:
        remote = await stage.remote_echo(hub)
        machine = hub.find(GPU)
        while machine.endpoint.link.owes:
            await asyncio.sleep(0.1)
        stage.disk.capacity = stage.disk.used_bytes
        listening = asyncio.ensure_future(events_of(remote, invocation("hi")))
        await asyncio.sleep(300)
        assert machine.endpoint.link.owes > 0  # the order is not taken
        assert runner.turns.count == 1
        assert not listening.done()
        stage.disk.capacity = None
        events = await listening
    assert [type(event) for event in lasting(events)][:1] == [engine.HandingOver]
    assert isinstance(events[-1], engine.TurnEnded)


class SteerableEcho(EchoRuntime):
    def __init__(self) -> None:
        super().__init__()
        self.steered: list[engine.Steer] = []

    async def steer(self, session_key: str, steer: engine.Steer) -> engine.SteerResult:
        del session_key
        self.steered.append(steer)
        return engine.SteerResult("taken")


class Inbox:
    """runner.call_handler.SessionInbox that lays nothing down."""

    async def lay_out(
        self, files: Sequence[SentFile], *, session_key: str, job_id: str
    ) -> tuple[engine.InputFile, ...]:
        return tuple(engine.InputFile(path=f"/{session_key}/{job_id}/{file.digest}", name=file.name) for file in files)


@pytest.mark.anyio
async def test_words_for_a_turn_that_runs_reach_its_agent_there_with_their_files():
    echo = SteerableEcho()
    stage = Stage(
        calls=RealCallHandler(RunnerRuntimes({"echo": echo}), RealDirectories(Path("/")), Inbox()),
        runtimes={"echo": echo},
    )
    with NamedTemporaryFile() as sent:
        sent.write(b"a picture")
        sent.flush()
        async with stage.daemon() as hub, stage.runner():
            remote = await stage.remote_echo(hub)
            files = (engine.InputFile(path=sent.name, name="cat.png", media_type="image/png"),)
            steer = engine.Steer(job_id=JobId("job_2"), text="look", files=files)
            assert (await remote.steer("s", steer)).outcome == "taken"
    [heard] = echo.steered
    digest = sha256(b"a picture").hexdigest()
    assert (heard.text, [file.path for file in heard.files]) == ("look", [f"/s/job_2/{digest}"])
