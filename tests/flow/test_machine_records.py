"""A daemon with a project on another machine: what people see while the machine, or the daemon, is away."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairlead.api.wire import question_info
from fairlead.channels.http.call import job_info
from fairlead.core import requests as ask
from fairlead.core import timestamps
from fairlead.core.decide.machines import AddMachine, RemoveMachine
from fairlead.core.decide.projects import AddProject, DirectoryFacts
from fairlead.core.events import JobCompleted, JobHandedOver, JobMarkedUnknownAfterCrash, QuestionAsked
from fairlead.core.kept_trees import snapshot_name
from fairlead.core.live import JobMoved
from fairlead.core.machines.machine import Machine
from fairlead.core.replies import ProjectCatalogue, ProjectInfo, StatusReport, Story
from fairlead.errors import Code, FairleadError
from fairlead.flow.agent_runtimes import FIXED
from fairlead.flow.work_trees.turn_snapshots import KEEP_SECONDS
from fairlead.machines.catalogue import CatalogueWithMachines
from fairlead.machines.directories import DirectoriesAcross
from fairlead.machines.hub import Machines
from fairlead.render.job_end import small_line
from fairlead.render.replies import reply_lines, reply_text
from fairlead.store.journal import open_state
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.trees import FakeTrees
from tests.flow.harness import OWNER, STATE, FlowHarness, PretendedDirectories, run_flow, virtually
from tests.machines.harness import GPU, Stage
from tests.runner.harness import Added


@asynccontextmanager
async def daemon_of(stage: Stage, disk: SimulatedDisk | None = None, **more: Any) -> AsyncIterator[FlowHarness]:
    """A daemon whose only project is on another machine."""
    wire = stage.server.connect("daemon")
    hub = Machines(wire, version="1", make_token=stage.make_token)
    state = None if disk is None else open_state(STATE, disk.crash(stage.server.random, power_lost=False)).state
    known: Mapping[str, Machine] = {} if state is None else state.machines
    flows: list[FlowHarness] = []

    def make_catalogue(runtimes: dict[str, Any]) -> CatalogueWithMachines:
        catalogue = CatalogueWithMachines(
            FIXED, runtimes, hub, lambda: flows[0].state.machines if flows else known, limit_sec=3600.0
        )
        catalogue.follow({})
        return catalogue

    directories: Any = DirectoriesAcross(PretendedDirectories(), None)
    async with run_flow(
        disk=disk, machines=hub, make_catalogue=make_catalogue, directories=directories, projects=(), **more
    ) as flow:
        flows.append(flow)
        yield flow
        stage.server.unplug(wire)


async def join(flow: FlowHarness) -> None:
    """The machine is added and its runner heard, and its project is the only one."""
    await flow.flow.ledger.record_durably(AddMachine(GPU, OWNER))
    await flow.until(lambda: "gpu/echo" in flow.flow.ledger.limits.runtimes)
    path = f"{GPU}:/srv/trainer"
    await flow.flow.ledger.record_durably(AddProject(DirectoryFacts(path, path)))


@pytest.mark.req("H2", "H8")
@virtually
async def test_a_project_there_has_the_machines_name_and_its_turns_run_there():
    stage = Stage()
    async with stage.runner(), daemon_of(stage) as flow:
        await join(flow)
        job = await flow.answered("hi")
        assert (job.state, job.project, job.runtime) == ("success", "gpu/trainer", "gpu/echo")
        assert job.project_path == "gpu:/srv/trainer"
        (handed_over,) = flow.facts(JobHandedOver)
        assert handed_over.job_id == job.job_id
        assert handed_over.machine_time  # the clock there, which may differ from ours by a day
        await flow.command(ask.Tool("echo"))  # people need not say on which machine
        with pytest.raises(FairleadError, match="gpu has no agent codex: it has echo"):
            await flow.command(ask.Tool("codex"))


@pytest.mark.req("H3")
@virtually
async def test_an_agent_that_is_added_there_is_listed_with_its_version_and_can_be_chosen_at_once():
    stage = Stage()
    added = Added(stage)
    async with stage.runner(), daemon_of(stage) as flow:
        await join(flow)
        await flow.answered("hi")
        mine = added.add("1.0")
        await flow.until(lambda: "gpu/mine" in flow.flow.ledger.limits.runtimes)
        await flow.command(ask.Tool("mine"))
        job = await flow.answered("and you?")
        assert (job.runtime, mine.prompts) == ("gpu/mine", ["and you?"])
        listed = {agent.name: (agent.source, agent.version) for agent in flow.flow.view.agents().agents}
        assert (listed["gpu/mine"], listed["gpu/echo"]) == (("npm:mine", "1.0"), ("", ""))


@pytest.mark.req("H2")
@virtually
async def test_the_snapshots_of_a_turn_are_kept_though_its_machine_is_renamed_at_once():
    stage, trees = Stage(), FakeTrees()
    async with stage.runner(), daemon_of(stage, trees=trees) as flow:
        await join(flow)
        job = await flow.answered("hi")
        await flow.until(lambda: not flow.state.open_trees)
        await flow.command(ask.MachineRename(GPU, "big"))
        assert trees.kept == {}
        await asyncio.sleep(2 * KEEP_SECONDS)
    assert {path: sorted(kept) for path, kept in trees.kept.items()} == {
        "big:/srv/trainer": [snapshot_name(flow.state.state_id, job.job_id, moment) for moment in ("end", "start")]
    }


@pytest.mark.req("H6", "H8")
@virtually
async def test_a_job_for_a_machine_that_is_away_waits_says_so_and_can_be_cancelled():
    stage = Stage()
    async with stage.runner(), daemon_of(stage) as flow:
        await join(flow)
        await flow.answered("hi")
        stage.server.cut(GPU)
        await flow.until(lambda: not flow.world.machines.is_usable(GPU))
        waiting = await flow.say("are you there?")
        later = await flow.say("and this")
        assert (waiting.held, later.held) == ("machine_away", "machine_away")
        session = flow.flow.view.session(waiting.session_key)
        assert session is not None
        assert session.awaited_machine == GPU
        await flow.command(ask.Cancel(waiting.job_id))
        assert flow.state.jobs[waiting.job_id].state == "cancelled"
        stage.server.mend(GPU)
        assert (await flow.ended(later.job_id)).state == "success"


@pytest.mark.req("H6")
@virtually
async def test_a_daemon_that_is_killed_leaves_the_turn_running_and_delivers_its_end_once():
    stage = Stage()
    async with stage.runner() as runner:
        async with daemon_of(stage) as flow:
            await join(flow)
            job = await flow.say("hi\n/slow 1000\n/usage 10 5 0.01")
            await flow.until(lambda: bool(flow.facts(JobHandedOver)))
            disk, history = flow.disk, flow.history
        assert runner.turns.count == 1
        async with daemon_of(stage, disk, history=history, life=1) as flow:
            assert flow.state.running == [job.job_id]
            ended = await flow.ended(job.job_id)
            assert (ended.state, ended.input_tokens) == ("success", 10)
            await flow.quiet()
            assert len(flow.texts(ended.conversation)) == 1
            assert flow.facts(JobMarkedUnknownAfterCrash) == []
            await flow.until(lambda: not runner.turns.count)


@pytest.mark.req("H6")
@virtually
async def test_a_question_that_was_asked_before_the_daemon_was_killed_is_not_asked_again_and_its_answer_counts():
    stage = Stage()
    async with stage.runner():
        async with daemon_of(stage) as flow:
            await join(flow)
            job = await flow.say("hi\n/ask rm -rf build")
            question = await flow.question()
            disk, history = flow.disk, flow.history
        async with daemon_of(stage, disk, history=history, life=1) as flow:
            await flow.click(question, "allow")
            assert (await flow.ended(job.job_id)).state == "success"
            assert len(flow.facts(QuestionAsked)) == 1


@pytest.mark.req("H6", "H8")
@virtually
async def test_a_runner_that_is_away_for_an_hour_goes_on_its_questions_wait_and_its_end_comes_once():
    stage = Stage()
    async with stage.runner() as runner, daemon_of(stage) as flow:
        await join(flow)
        job = await flow.say("hi\n/slow 60\n/ask rm -rf build\n/usage 10 5 0.01")
        await flow.until(lambda: bool(flow.facts(JobHandedOver)))
        stage.server.cut(GPU)
        went = flow.flow.ledger.now()
        await asyncio.sleep(3600)
        presence = flow.world.machines.presence(GPU)
        assert (presence.is_there, "" < presence.since <= went) == (False, True), "since it was last heard"
        assert (flow.state.jobs[job.job_id].state, flow.facts(QuestionAsked)) == ("running", [])
        assert runner.turns.count == 1
        stage.server.mend(GPU)
        await flow.click(await flow.question(), "allow")
        ended = await flow.ended(job.job_id)
        assert (ended.state, ended.input_tokens) == ("success", 10)
        await flow.quiet()
        assert len(flow.facts(QuestionAsked)) == len(flow.facts(JobCompleted)) == 1
        assert flow.facts(JobMarkedUnknownAfterCrash) == []
        await flow.until(lambda: not runner.kept_turns)


@pytest.mark.req("H6")
@virtually
async def test_an_answer_that_is_given_while_the_machine_is_away_reaches_its_agent_when_it_is_back():
    stage = Stage()
    async with stage.runner(), daemon_of(stage) as flow:
        await join(flow)
        job = await flow.say("hi\n/ask rm -rf build")
        question = await flow.question()
        stage.server.cut(GPU)
        await flow.until(lambda: not flow.world.machines.is_usable(GPU))
        await flow.click(question, "allow")
        await asyncio.sleep(3600)
        assert flow.state.jobs[job.job_id].is_live
        stage.server.mend(GPU)
        assert (await flow.ended(job.job_id)).state == "success"
        assert len(flow.facts(QuestionAsked)) == 1


@pytest.mark.req("H6")
@virtually
async def test_a_runner_that_is_killed_while_its_agent_works_leaves_a_job_that_is_unknown():
    stage = Stage()
    async with daemon_of(stage) as flow:
        async with stage.runner():
            await join(flow)
            job = await flow.say("hi\n/hang")
            await flow.until(lambda: bool(flow.facts(JobHandedOver)))
        async with stage.runner():
            ended = await flow.ended(job.job_id)
            assert (ended.state, ended.error_code) == ("unknown_after_crash", "E_UNKNOWN_AFTER_CRASH")
            assert (await flow.answered("go on")).state == "success"


@pytest.mark.req("H1", "H6")
@virtually
async def test_a_machine_that_never_comes_back_is_removed_only_when_it_is_to_be_forgotten():
    stage = Stage()
    async with daemon_of(stage) as flow:
        async with stage.runner():
            await join(flow)
            job = await flow.say("hi\n/hang")
            await flow.until(lambda: bool(flow.facts(JobHandedOver)))
        queued = await flow.say("and this")
        with pytest.raises(FairleadError) as refused:
            await flow.flow.ledger.record_durably(RemoveMachine(name=GPU, person=OWNER))
        assert refused.value.code is Code.E_MACHINE_IN_USE
        await flow.flow.ledger.record_durably(RemoveMachine(name=GPU, person=OWNER, forget=True))
        assert flow.state.jobs[job.job_id].state == "unknown_after_crash"
        assert flow.state.jobs[queued.job_id].state == "cancelled"
        assert flow.state.listed_projects() == []
        await flow.quiet()


@pytest.mark.req("H8")
@virtually
async def test_people_see_on_which_machine_a_turn_runs_and_since_when_that_is_away():
    stage = Stage()
    async with stage.runner(), daemon_of(stage) as flow:
        await join(flow)
        watch = flow.view.watch()
        job = await flow.say("hi\n/slow 1000")
        await flow.until(lambda: bool(flow.facts(JobHandedOver)))
        await asyncio.sleep(1)
        assert [(m.state, m.machine, m.machine_away_since) for m in moves(watch)] == [
            ("queued", GPU, ""), ("running", GPU, ""),
        ]  # fmt: skip
        stage.server.cut(GPU)
        cut_at = flow.flow.ledger.now()
        await flow.until(lambda: not flow.world.machines.is_usable(GPU))
        (away,) = moves(watch)
        since = flow.world.machines.presence(GPU).since
        assert abs(timestamps.seconds_between(cut_at, since)) < 6  # since its last sign, not since that was missed
        assert (away.state, away.machine_away_since) == ("running", since)
        seen = flow.view.recent_job(job.job_id)
        assert seen is not None
        assert (seen.machine, seen.machine_away_since) == (GPU, since)
        status = await flow.command(ask.Status())
        assert isinstance(status, StatusReport)
        assert (status.machine, status.machine_away_since) == (GPU, since)
        stage.server.mend(GPU)
        await flow.ended(job.job_id)
        await flow.quiet()
        assert [(m.state, m.machine_away_since) for m in moves(watch)] == [("running", ""), ("success", "")]


@pytest.mark.req("H2", "H8")
@virtually
async def test_the_lists_of_projects_and_machines_say_who_is_there_and_what_waits_for_whom():
    stage = Stage()
    async with daemon_of(stage) as flow:
        await flow.flow.ledger.record_durably(AddMachine(GPU, OWNER))
        (new,) = reply_lines(await flow.command(ask.MachineList()), "en")
        assert new.startswith("gpu: has not been connected yet.")
        async with stage.runner():
            await join(flow)
            (project,) = await list_projects(flow)
            assert (project.machine, project.machine_is_there) == (GPU, True)
            assert reply_lines(ProjectCatalogue((project,)), "en") == [
                "  #1 gpu/trainer  gpu/echo (gpu/echo)  gpu:/srv/trainer  machine: gpu (connected)"
            ]
            since = flow.world.machines.presence(GPU).since
            assert reply_lines(await flow.command(ask.MachineList()), "en") == [
                f"gpu: connected since {since}, 0 of 1 running, agents: echo, projects: gpu/trainer, Fairlead 1"
            ]
            stage.server.cut(GPU)
            await flow.until(lambda: not flow.world.machines.is_usable(GPU))
            await flow.say("are you there?")
            (project,) = await list_projects(flow)
            since = flow.world.machines.presence(GPU).since
            assert (project.machine_is_there, project.machine_since) == (False, since)
            assert reply_lines(await flow.command(ask.MachineList()), "en") == [
                f"gpu: not connected since {since}, 1 waiting, agents: echo, projects: gpu/trainer"
            ]
            (row,) = flow.view.machines()
            assert (row.running, row.waiting, row.slots) == (0, 1, 1)


@pytest.mark.req("H8")
@virtually
async def test_a_question_and_an_answer_name_the_machine():
    stage = Stage()
    async with stage.runner(), daemon_of(stage) as flow:
        await join(flow)
        job = await flow.say("hi\n/ask rm -rf build")
        question = await flow.question()
        view = flow.view.question(question)
        assert view is not None
        assert view.machine == GPU
        assert question_info(view).machine == GPU
        asked_in = flow.state.jobs[job.job_id].conversation
        await flow.until(lambda: bool(flow.texts(asked_in)))
        assert flow.texts(asked_in)[0].startswith("The agent on gpu asks for permission: ")
        await flow.click(question, "allow")
        ended = await flow.ended(job.job_id)
        seen = flow.view.recent_job(ended.job_id)
        assert seen is not None
        assert job_info(seen).machine == GPU
        assert small_line(ended, "", "en").startswith(GPU)


def moves(watch: Any) -> list[JobMoved]:
    return [event for event in watch.take_waiting() if isinstance(event, JobMoved)]


async def list_projects(flow: FlowHarness) -> tuple[ProjectInfo, ...]:
    reply = await flow.command(ask.ProjectList())
    assert isinstance(reply, ProjectCatalogue)
    return reply.projects


@pytest.mark.req("H8")
@virtually
async def test_why_tells_the_hops_of_a_turn_on_both_clocks_also_when_its_end_is_heard_much_later():
    stage = Stage()
    async with stage.runner(), daemon_of(stage) as flow:
        await join(flow)
        job = await flow.say("hi\n/slow 100")
        await flow.until(lambda: bool(flow.facts(JobHandedOver)))
        stage.server.cut(GPU)
        await asyncio.sleep(7200)  # the turn ends meanwhile, and nobody here hears of it
        stage.server.mend(GPU)
        await flow.ended(job.job_id)
        story = await flow.command(ask.Why(job.job_id))
        assert isinstance(story, Story)
        steps = {step.type: step for step in story.steps}
        began, ended = steps["JobHandedOver"], steps["JobCompleted"]
        assert began.fields["taken"] <= began.fields["there"] < ended.fields["there"] < ended.ts
        assert timestamps.seconds_between(began.fields["there"], ended.fields["there"]) < 200
        assert timestamps.seconds_between(ended.fields["there"], ended.ts) > 7000
        assert f"its machine's clock: {ended.fields['there']}" in reply_text(story, "en")
