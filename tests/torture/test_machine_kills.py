"""A daemon, two runners and their server, killed at random moments, again and again; now and then the server's disk is
wiped. What was promised is what HTTP answered; what happened is what the journal says and what the agents wrote down.

FAIRLEAD_KILLS says how often (`make torture-machines`: 300), FAIRLEAD_SEED with which seed."""

import asyncio
import os
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from fairlead.api.client import ServerAway
from fairlead.errors import FairleadError
from tests.two_machines.harness import Program, Site, site

MACHINES = ("gpu", "laptop")
PEOPLE = ("ada", "ben", "cleo")
NAPS = ("", "nap 0.05", "nap 0.3", "nap 1")


class Torture:
    def __init__(self, here: Site, seed: int) -> None:
        self.here = here
        self.random = Random(seed)
        self.runners: dict[str, Program] = {}
        self.promised: dict[str, str] = {}
        """The job of every key."""

    async def talk(self, person: str, machine: str) -> None:
        number = 0
        while True:
            number += 1
            key = f"{machine}-{person}-{number}"
            text = f"this is {key}\n{self.random.choice(NAPS)}"
            while key not in self.promised:
                try:
                    async with self.here.client() as client:
                        taken = await client.submit(
                            f"{person}-{machine}", text, project=f"{machine}/{machine}-project",
                            tool=f"{machine}/codex", key=key,
                        )  # fmt: skip
                        self.promised[key] = taken.job_id
                except (ServerAway, FairleadError, OSError):  # away, or its queue is full
                    await asyncio.sleep(0.2)
            await asyncio.sleep(self.random.random())

    async def kill(self) -> None:
        victim = self.random.choice(("daemon", "server", "server and its disk", *MACHINES))
        await asyncio.sleep(self.random.random() * 1.5)
        if victim == "daemon":
            assert self.here.daemon is not None
            await self.here.daemon.end(signal.SIGKILL)
            await self.here.start_daemon()
        elif victim in MACHINES:
            await self.runners[victim].end(signal.SIGKILL)
            self.runners[victim] = await self.here.start_runner(victim)
        else:
            with suppress(AssertionError, ProcessLookupError):  # it may be starting
                self.here.kill_server(wipe=victim != "server")

    async def account(self) -> None:
        ends = {key: await self.here.end_of(job_id) for key, job_id in self.promised.items()}
        begun = Counter(self.here.prompts())
        assert [key for key, times in begun.items() if times > 1] == [], "no prompt is handed over twice"
        succeeded = {key for key, job in ends.items() if job.state == "success"}
        assert succeeded <= set(self.here.prompts("ended")), "what succeeded has run to its end"
        assert [ends[key].answer for key in succeeded] == [f"this is {key}" for key in succeeded]
        assert {job.state for job in ends.values()} <= {"success", "unknown_after_crash"}
        completed = Counter(fact["job_id"] for fact in self.here.journal("JobCompleted"))
        assert [job_id for job_id, times in completed.items() if times > 1] == [], "no answer is given twice"
        self._check_order()
        states = Counter(job.state for job in ends.values())
        print(f"{len(ends)} jobs: {dict(states)}")

    def _check_order(self) -> None:
        for machine in MACHINES:
            for person in PEOPLE:
                mine = [key for key in self.here.prompts() if key.startswith(f"{machine}-{person}-")]
                assert mine == sorted(mine, key=lambda key: int(key.rpartition("-")[2])), "order is kept"


@pytest.mark.torture
@pytest.mark.req("H4", "H6")
def test_daemon_runners_and_server_are_killed_again_and_again(tmp_path: Path):
    kills = int(os.environ.get("FAIRLEAD_KILLS", "30"))
    seed = int(os.environ.get("FAIRLEAD_SEED", "0")) or Random().randrange(1, 10**6)
    print("seed", seed)

    async def story() -> None:
        async with site(tmp_path) as here:
            torture = Torture(here, seed)
            await here.start_daemon()
            for machine in MACHINES:
                torture.runners[machine] = await here.bring_up(machine)
            people = [asyncio.create_task(torture.talk(person, machine)) for person in PEOPLE for machine in MACHINES]
            for _ in range(kills):
                await torture.kill()
            for person in people:
                person.cancel()
            await asyncio.gather(*people, return_exceptions=True)
            async with asyncio.timeout(300):
                await torture.account()

    asyncio.run(story())
