"""A real daemon under load, killed with signal 9 at seeded moments, again and again: every promise is kept.

What was promised is what HTTP answered; what happened is what the journal says.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import count
from pathlib import Path
from random import Random

import aiohttp
import pytest

PEOPLE = ("ada", "ben", "cleo", "dora")
ORDERS = ("", "", "/slow 0.05", "/slow 0.4", "/tool Bash make", "/long 3000", "/transient", "/fail because", "/image")
ENDS = {"JobCompleted", "JobFailed", "JobCancelled", "JobMarkedUnknownAfterCrash", "JobWithdrawn"}


class Daemon:
    """`fairlead up` as anybody starts it, with no agent but echo."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "project").mkdir(exist_ok=True)
        self.environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "STATE_DIR": str(home / "state"),
            "LOG_DIR": str(home / "logs"),
            "PROJECTS": json.dumps([str(home / "project")]),
            "FAIRLEAD_HTTP_PORT": "0",
            "FAIRLEAD_SNAPSHOT_EVERY_EVENTS": "20",
        }
        self.process: asyncio.subprocess.Process | None = None

    async def spawn(self) -> None:
        with (self.home / "stderr").open("ab") as stderr:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "fairlead", "up", "--no-chat"),
                cwd=self.home,
                env=self.environment,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
            )

    async def address(self) -> str:
        """Where it serves, once it does."""
        assert self.process is not None
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            async for line in self.process.stdout:
                words = line.decode().split()
                if words[:2] == ["HTTP", "on"]:
                    return words[2]
        raise AssertionError(f"it did not start: {(self.home / 'stderr').read_text()[-2000:]}")

    async def end(self, how: signal.Signals) -> int:
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.send_signal(how)
        await self.process.stdout.read()
        return await self.process.wait()

    def token(self) -> str:
        return (self.home / "state" / "http-token").read_text().strip()

    def facts(self) -> list[dict]:
        return [json.loads(line) for line in (self.home / "state" / "events.ndjson").read_bytes().splitlines()]

    def verify(self) -> None:
        command = (sys.executable, "-m", "fairlead", "journal", "verify")
        done = subprocess.run(command, env=self.environment, cwd=self.home, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


class Person:
    """Sends one message after the other. One that got no answer is sent again, under the same key."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.promised: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._random = Random(f"{seed}/{name}")
        self._keys = (f"{name}-{number}" for number in count())
        self._unanswered: tuple[str, str] | None = None

    async def talk(self, http: aiohttp.ClientSession) -> None:
        while True:
            key, text = self._unanswered = self._unanswered or self._next()
            status, reply = await self._post(http, key, text, wait=0)
            if status == 202:
                assert self.promised.setdefault(key, reply["job_id"]) == reply["job_id"]
                self._unanswered = None
            elif status == 429:  # the queue is full: let the last one come to its end
                last = next(reversed(self.promised), None)
                if last is not None:
                    await self._post(http, last, self._texts[last], wait=1)
            else:
                raise AssertionError(f"{key}: {status} {reply}")

    def _next(self) -> tuple[str, str]:
        key = next(self._keys)
        text = "\n".join((f"this is {key}", *self._random.sample(ORDERS, k=1)))
        self._texts[key] = text
        return key, text

    async def outcome(self, http: aiohttp.ClientSession, key: str) -> dict:
        """The job behind an earlier message, when it is over: the same key leads to the same job."""
        _, reply = await self._post(http, key, self._texts[key], wait=1)
        return reply.get("job", reply)

    async def _post(self, http: aiohttp.ClientSession, key: str, text: str, *, wait: int) -> tuple[int, dict]:
        body = {"userId": self.name, "message": text, "tool": "echo"}
        headers = {"Idempotency-Key": key}
        async with http.post(f"/v1/messages?wait={wait}", json=body, headers=headers) as response:
            return response.status, await response.json()


async def one_life(daemon: Daemon, people: list[Person], random: Random) -> None:
    """Start, talk, and die: mostly in the middle of the talk, sometimes before it has even started."""
    await daemon.spawn()
    if random.random() < 0.15:
        try:
            async with asyncio.timeout(random.uniform(0.05, 0.6)):
                await daemon.address()
        except TimeoutError:
            await daemon.end(signal.SIGKILL)
            return
    else:
        await talk_for(daemon, people, random.uniform(0.02, 0.6))
    await daemon.end(signal.SIGKILL)


async def talk_for(daemon: Daemon, people: list[Person], seconds: float) -> None:
    url = await daemon.address()
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {daemon.token()}"}) as http:
        talks = [asyncio.ensure_future(person.talk(http)) for person in people]
        done, left = await asyncio.wait(talks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        for talk in left:
            talk.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for talk in done:
            talk.result()


async def last_life(daemon: Daemon, people: list[Person]) -> dict[str, dict]:
    await daemon.spawn()
    url = await daemon.address()
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {daemon.token()}"}) as http:
        outcomes = {}
        for person in people:
            for key in person.promised:
                outcomes[key] = await person.outcome(http, key)
    assert await daemon.end(signal.SIGTERM) == 0
    return outcomes


async def killed(home: Path, *, kills: int, seed: int) -> None:
    random = Random(seed)
    daemon = Daemon(home)
    people = [Person(name, seed) for name in PEOPLE]
    for _ in range(kills):
        await one_life(daemon, people, random)
        if random.random() < 0.1:
            daemon.verify()
    outcomes = await last_life(daemon, people)
    daemon.verify()
    judge(daemon.facts(), people, outcomes)


def judge(facts: list[dict], people: list[Person], outcomes: dict[str, dict]) -> None:
    payloads = defaultdict(list)
    for fact in facts:
        payloads[fact["type"]].append(fact["payload"])
    enqueued = Counter(p["message_id"] for p in payloads["JobEnqueued"])
    # A key that was refused for a full queue stands for a new try when it comes again, as «key~2».
    job_of = {p["message_id"].partition("~")[0]: p["job_id"] for p in payloads["JobEnqueued"]}
    promised = {key: job_id for person in people for key, job_id in person.promised.items()}

    assert len(promised) > 20, "too little happened to prove anything"
    assert {key: job_of.get(key) for key in promised} == promised, "every promise is in the journal"
    assert set(enqueued.values()) == {1}, "no message was taken twice"
    assert len(job_of) == len(enqueued), "nor under another name"
    started = Counter(p["job_id"] for p in payloads["JobStarted"])
    assert set(started.values()) == {1}, "no job ran twice"
    assert payloads["JobMarkedUnknownAfterCrash"], "no kill came at a bad moment"
    ends = Counter(f["payload"]["job_id"] for f in facts if f["type"] in ENDS)
    assert ends == Counter(job_of.values()), "every job ended, once"
    owed = Counter(p["job_id"] for p in payloads["DeliveryOwed"] if p["kind"] == "answer")
    assert owed == Counter(job_of.values()), "every end owes its answer"
    for key, outcome in outcomes.items():
        assert outcome["job_id"] == promised[key]
        if outcome["state"] == "success":
            assert f"this is {key}" in outcome["answer"], "everybody gets their own answer"
    order = defaultdict(list)
    for p in payloads["JobStarted"]:
        order[p["session_key"]].append(int(p["job_id"].rpartition("_")[2]))
    assert all(numbers == sorted(numbers) for numbers in order.values()), "first in, first out"


@pytest.mark.req("A8", "A15")
def test_a_daemon_that_is_killed_again_and_again_loses_nothing_and_runs_nothing_twice(tmp_path):
    asyncio.run(killed(tmp_path, kills=25, seed=int(os.environ.get("FAIRLEAD_TORTURE_SEED", "1"))))


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(100, 105))
def test_a_hundred_and_fifty_kills(tmp_path, seed):
    asyncio.run(killed(tmp_path, kills=30, seed=seed))
