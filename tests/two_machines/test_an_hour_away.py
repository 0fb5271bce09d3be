"""A runner that is out of reach for an hour in the middle of its turns: real processes, a real server and a cable that
is cut. The clocks of daemon and runner are moved ahead, a minute at a time; nobody waits for an hour."""

import asyncio
import os
import signal
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from fairlead.api.wire import QuestionInfo
from tests.nats_wire.cable import cable_to
from tests.support.configured_agents import ScriptedAgent
from tests.two_machines.clocks import MINUTE, MovedClock
from tests.two_machines.harness import Program, Site, run, site

HOUR = 60 * MINUTE


class AwayForAnHour:
    """Two people's turns at one machine: one agent will ask, the other one will end, both while the cable is cut."""

    def __init__(self, here: Site, home: Path) -> None:
        self.here = here
        self.clock = MovedClock(home / "clock")
        here.launcher = here.runner_launcher = self.clock.launcher
        self.asking = ScriptedAgent(home, "codex-acp")
        here.runner_more = {"PATH": f"{self.asking.program.parent}:/usr/bin:/bin"}
        self.programs: tuple[Program, ...] = ()

    async def bring_up(self) -> None:
        self.programs = (await self.here.start_daemon(), await self.here.bring_up("gpu"))

    async def begin_turns(self) -> tuple[str, str]:
        here = self.here
        os.mkfifo(here.gate("ask"))
        orders = f"hold: {here.gate('ask')}\nask: execute rm -rf build\nsay: It is gone."
        async with here.client() as client:
            taken = await client.submit("ada", orders, project="gpu/gpu-project", tool="gpu/codex-acp")
        ending = await here.say("gpu", f"this is one\nuntil {here.gate('one')}", user="ben")
        await here.until_begun("one")
        await here.until(lambda: len(here.journal("JobHandedOver")) == 2)
        return taken.job_id, ending

    async def pass_time(self, seconds: int) -> None:
        for _ in range(seconds // MINUTE):
            await self.clock.move(MINUTE, *self.programs)

    def runner_events(self, kind: str) -> list[dict]:
        noted = self.here.runner_facts("gpu", "TurnEventsNoted")
        return [event for fact in noted for event in fact["events"] if event["kind"] == kind]

    async def let_go_on(self) -> None:
        """Both agents: one asks now, the other one ends."""
        await asyncio.to_thread(self.here.gate("ask").write_bytes, b"")
        self.here.gate("one").touch()
        await self.here.until(lambda: self.runner_events("PermissionRequested") and self.runner_events("TurnEnded"))

    async def find_question(self) -> QuestionInfo:
        async with self.here.client() as client:
            while not (asked := await client.questions("ada")):
                await asyncio.sleep(0.05)
            (question,) = asked
            return question

    async def answer_question(self) -> QuestionInfo:
        question = await self.find_question()
        async with self.here.client() as client:
            await client.respond(question.question_id, "allow", user="ada")
        return question

    async def ask_at_once(self) -> str:
        async with self.here.client() as client:
            orders = "ask: execute rm -rf build\nsay: It is gone."
            taken = await client.submit("ada", orders, project="gpu/gpu-project", tool="gpu/codex-acp")
            return taken.job_id


@pytest.mark.req("H6", "H8")
def test_a_runner_that_is_away_for_an_hour_goes_on_its_question_waits_and_both_ends_are_delivered_once(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here, cable_to(here.nats_port) as cable:
            here.address = f"127.0.0.1:{cable.port}"
            hour = AwayForAnHour(here, tmp_path)
            await hour.bring_up()
            jobs = _, ends = await hour.begin_turns()
            cable.cut()
            await hour.pass_time(MINUTE)
            await here.presence("gpu", is_there=False)
            await hour.let_go_on()
            await hour.pass_time(MINUTE + HOUR)

            away = await here.machine("gpu")
            assert (away.is_there, away.problem) == (False, "")
            for job in [await here.job(job_id) for job_id in jobs]:
                assert (job.state, job.machine_away_since) == ("running", away.since)
            assert here.journal("QuestionAsked") == here.journal("JobCompleted") == []

            cable.mend()
            question = await hour.answer_question()
            assert question.machine == "gpu"
            answers = [((job := await here.end_of(job_id)).state, job.answer) for job_id in jobs]
            assert answers == [("success", "Chose once\n\nIt is gone."), ("success", "this is one")]
            await here.presence("gpu", is_there=True)
            assert (await here.end_of(await here.say("gpu", "this is two"))).state == "success"
            assert [len(here.journal(kind)) for kind in ("QuestionAsked", "JobHandedOver", "JobCompleted")] == [1, 3, 3]
            assert here.journal("JobMarkedUnknownAfterCrash") == []
            assert (here.prompts(), len(hour.asking.prompts())) == (["one", "two"], 1)
            finished_at = (await here.job(ends)).finished_at or ""
            assert datetime.fromisoformat(finished_at) - datetime.fromisoformat(away.since) > timedelta(seconds=HOUR)

    run(story())


@pytest.mark.req("H6")
def test_an_answer_that_is_given_while_the_machine_is_away_reaches_its_agent_an_hour_later(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here, cable_to(here.nats_port) as cable:
            here.address = f"127.0.0.1:{cable.port}"
            hour = AwayForAnHour(here, tmp_path)
            await hour.bring_up()
            job_id = await hour.ask_at_once()
            await hour.find_question()
            cable.cut()
            await hour.pass_time(MINUTE)
            await here.presence("gpu", is_there=False)
            await hour.answer_question()
            await hour.pass_time(HOUR)
            assert (await here.job(job_id)).state == "running"
            assert hour.asking.responses() == []
            cable.mend()
            job = await here.end_of(job_id)
            assert (job.state, job.answer) == ("success", "Chose once\n\nIt is gone.")
            assert len(hour.asking.responses()) == len(here.journal("QuestionAsked")) == 1

    run(story())


@pytest.mark.req("H6")
def test_a_question_that_was_asked_before_the_daemon_was_killed_is_asked_once_and_its_answer_counts(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            hour = AwayForAnHour(here, tmp_path)
            await hour.bring_up()
            job_id = await hour.ask_at_once()
            asked = await hour.find_question()
            assert here.daemon is not None
            await here.daemon.end(signal.SIGKILL)
            await here.start_daemon()
            assert (await hour.answer_question()).question_id == asked.question_id
            assert (await here.end_of(job_id)).state == "success"
            assert len(hour.asking.responses()) == len(here.journal("QuestionAsked")) == 1
            assert here.journal("JobMarkedUnknownAfterCrash") == []

    run(story())
