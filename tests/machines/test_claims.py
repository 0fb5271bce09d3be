"""Copies of a daemon's or a runner's files: of two with one name, the older gives and takes no orders."""

import asyncio
from copy import deepcopy
from typing import Any

import pytest

from fairlead.core import engine
from fairlead.errors import Code, FairleadError
from fairlead.machine_ports import DAEMON
from fairlead.machines.claims import CONFIRM_SEC
from fairlead.machines.hub import KEEP_SEC, Machines
from tests.flow.harness import virtually
from tests.machines.harness import GPU, Stage, events_of, invocation

A_WHILE = 3 * KEEP_SEC


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.1)


def problem_of(hub: Machines) -> Code | None:
    return None if hub.problem is None else hub.problem.code


@pytest.mark.req("H5")
@virtually
async def test_a_copy_of_a_runners_files_does_not_go_on_with_a_journal_that_has_gone_on_elsewhere():
    stage = Stage()
    async with stage.daemon() as hub, stage.runner() as original:
        remote = await stage.remote_echo(hub)
        copied = stage.copy_disk()
        await events_of(remote, invocation("hi"))
        await asyncio.sleep(A_WHILE)
        was = original.runner_id
        async with stage.runner(copied) as copy:
            with pytest.raises(FairleadError) as ended:
                await stage.ends[original]
            assert ended.value.code is Code.E_RUNNER_SUPERSEDED
            await until(lambda: hub.find(GPU).runner_epoch == copy.epoch)
            assert copy.runner_id != was


@pytest.mark.req("H5")
@virtually
async def test_a_runner_that_is_started_again_goes_on_with_its_journal_however_much_it_did():
    stage = Stage()
    async with stage.daemon() as hub:
        async with stage.runner() as first:
            remote = await stage.remote_echo(hub)
            for number in range(5):
                await events_of(remote, invocation("hi", job=f"job_{number}"))
                await asyncio.sleep(CONFIRM_SEC)
            was = first.runner_id
        async with stage.runner() as second:
            await until(lambda: hub.find(GPU).runner_epoch == second.epoch)
            assert second.runner_id == was


@pytest.mark.req("H5")
@virtually
async def test_a_superseded_runner_finds_out_by_itself_and_ends_its_agents():
    """The orders of one machine are shared by all who have its key: the older one may never be given one."""
    stage = Stage()
    async with stage.daemon() as hub, stage.runner() as original:
        remote = await stage.remote_echo(hub)
        listening = asyncio.ensure_future(events_of(remote, invocation("hi\n/slow 100000")))
        await until(lambda: original.turns.count)
        stage.server.mute(GPU)
        async with stage.runner(stage.copy_disk()):
            with pytest.raises(FairleadError) as ended:
                await stage.ends[original]
            assert ended.value.code is Code.E_RUNNER_SUPERSEDED
            assert original.turns.count == 0
        listening.cancel()


@pytest.mark.req("H5")
@virtually
async def test_an_older_copy_of_the_daemon_gives_no_orders_though_it_was_never_started_again_since():
    stage = Stage()
    async with stage.runner():
        async with stage.daemon() as hub:
            backup = deepcopy(stage.records.kept)
            await events_of(await stage.remote_echo(hub), invocation("hi"))
            await asyncio.sleep(A_WHILE)
        stage.records.kept = backup
        async with stage.daemon() as restored:
            await until(lambda: restored.problem is not None)
            assert problem_of(restored) is Code.E_MACHINES_TAKEN


@pytest.mark.req("H5")
@virtually
async def test_an_older_copy_of_the_daemon_with_its_server_is_told_by_the_runners():
    stage = Stage()
    async with stage.runner():
        async with stage.daemon() as hub:
            remote = await stage.remote_echo(hub)
            backup, claim = deepcopy(stage.records.kept), stage.server.read_claim(DAEMON)
            await events_of(remote, invocation("hi"))
            await asyncio.sleep(A_WHILE)
        stage.records.kept = backup
        stage.server.put_back(DAEMON, claim)
        async with stage.daemon() as restored:
            await until(lambda: restored.problem is not None)
            assert problem_of(restored) is Code.E_MACHINES_TAKEN


@pytest.mark.req("H5")
@virtually
async def test_a_person_can_decide_that_an_older_copy_of_the_daemon_goes_on():
    stage = Stage()
    async with stage.runner():
        async with stage.daemon() as hub:
            backup = deepcopy(stage.records.kept)
            await events_of(await stage.remote_echo(hub), invocation("hi"))
            await asyncio.sleep(A_WHILE)
        stage.records.kept = backup
        stage.records.met.clear()
        taken_over: list[bool] = []
        async with stage.daemon(on_taken_over=lambda: taken_over.append(True)) as restored:
            events = await events_of(await stage.remote_echo(restored), invocation("hi", job="job_2"))
            assert isinstance(events[-1], engine.TurnEnded)
        assert taken_over == [True]
        stage.records.met.clear()
        async with stage.daemon() as later:
            await stage.remote_echo(later)
            assert later.problem is None
