"""A real daemon under load, killed with signal 9 at seeded moments, again and again: every promise is kept.

What was promised is what HTTP answered; what happened is what the journal says, and what agents wrote down themselves.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from random import Random

import aiohttp
import pytest

from tests.kit.living_processes import is_alive
from tests.support import counting_agent

LastWords = Callable[[aiohttp.ClientSession], Awaitable[None]] | None
PEOPLE = ("ada", "ben", "cleo", "dora")
ORDERS = ("", "", "/slow 0.05", "/slow 0.4", "/tool Bash make", "/long 3000", "/transient", "/fail because", "/image")
NAPS = ("", "nap 0.05", "nap 0.3", "stubborn", "nap 1\nstubborn")
"""What agents that keep count are told."""

OUTLIVES = "nap 600\nstubborn"

ENDS = {"JobCompleted", "JobFailed", "JobCancelled", "JobMarkedUnknownAfterCrash", "JobWithdrawn"}


class Daemon:
    """`fairlead up` as anybody starts it, with echo, and with an agent that notes each prompt it gets."""

    def __init__(self, home: Path) -> None:
        self.notes = home / "notes"
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
            "FAIRLEAD_MAX_QUEUE_PER_SESSION": "8",
            "CODEX_COMMAND": str(counting_agent.write_program(home, self.notes)),
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

    def runs(self, what: str) -> list[dict]:
        """What the agents wrote down: that they began, or ended, with a prompt."""
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return [note for line in lines if (note := json.loads(line))["what"] == what]

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

    def __init__(self, name: str, seed: int, tool: str) -> None:
        self.name = name
        self._tool = tool
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

    @property
    def unanswered_key(self) -> str:
        """Of the message whose acceptance this person never heard of."""
        return self._unanswered[0] if self._unanswered is not None else ""

    def _next(self) -> tuple[str, str]:
        key = next(self._keys)
        orders = ORDERS if self._tool == "echo" else NAPS
        text = "\n".join((f"this is {key}", *self._random.sample(orders, k=1)))
        self._texts[key] = text
        return key, text

    async def leave_an_agent_behind(self, http: aiohttp.ClientSession, daemon: Daemon) -> None:
        """Returns when an agent works that does not end with its daemon."""
        key = next(self._keys)
        self._texts[key] = f"this is {key}\n{OUTLIVES}"
        status, reply = await self._post(http, key, self._texts[key], wait=0)
        assert status == 202, reply
        self.promised[key] = reply["job_id"]
        async with asyncio.timeout(120):
            while key not in {note["key"] for note in daemon.runs("begun")}:
                await asyncio.sleep(0.05)

    async def outcome(self, http: aiohttp.ClientSession, key: str) -> dict:
        """The job behind an earlier message, when it is over: the same key leads to the same job."""
        _, reply = await self._post(http, key, self._texts[key], wait=1)
        return reply.get("job", reply)

    async def _post(self, http: aiohttp.ClientSession, key: str, text: str, *, wait: int) -> tuple[int, dict]:
        body = {"userId": self.name, "message": text, "tool": self._tool}
        headers = {"Idempotency-Key": key}
        async with http.post(f"/v1/messages?wait={wait}", json=body, headers=headers) as response:
            return response.status, await response.json()


async def one_life(daemon: Daemon, people: list[Person], random: Random, last_words: LastWords) -> bool:
    """Start, talk, and die: mostly in the middle of the talk, sometimes before it has even started. Whether an agent
    of the life before was still there at the start."""
    left_over = [note["pid"] for note in daemon.runs("begun") if is_alive(note["pid"])]
    await daemon.spawn()
    if random.random() < 0.15 and last_words is None:
        try:
            async with asyncio.timeout(random.uniform(0.05, 0.6)):
                await daemon.address()
        except TimeoutError:
            pass
        left_over = []  # whether the start came so far as to end them is unknown
    else:
        await talk_for(daemon, people, random.uniform(0.02, 0.6), left_over, last_words)
    await daemon.end(signal.SIGKILL)
    return bool(left_over)


async def talk_for(
    daemon: Daemon, people: list[Person], seconds: float, left_over: list[int], last_words: LastWords
) -> None:
    url = await daemon.address()
    assert not [pid for pid in left_over if is_alive(pid)], "an agent of the life before goes on beside the next"
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {daemon.token()}"}) as http:
        await (await http.get("/v1/health")).read()  # the first who connects waits until the server is loaded
        talks = [asyncio.ensure_future(person.talk(http)) for person in people]
        done, left = await asyncio.wait(talks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        for talk in left:
            talk.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for talk in done:
            talk.result()
        if last_words is not None:
            await last_words(http)


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


async def killed(home: Path, *, kills: int, seed: int, tool: str = "echo") -> None:
    random = Random(seed)
    daemon = Daemon(home)
    people = [Person(name, seed, tool) for name in PEOPLE]
    outlived = 0
    eve = Person("eve", seed, tool)
    for life in range(kills):
        leaves = tool == "codex" and life % 3 == 1
        last_words: LastWords = (lambda http: eve.leave_an_agent_behind(http, daemon)) if leaves else None
        outlived += await one_life(daemon, people, random, last_words)
        if random.random() < 0.1:
            daemon.verify()
    people.append(eve)
    outcomes = await last_life(daemon, people)
    daemon.verify()
    judge(daemon.facts(), people, outcomes, least=20 if tool == "echo" else kills // 3)
    if tool == "codex":
        assert outlived, "no agent outlived its daemon"
        judge_runs(daemon, people, outcomes)


def judge_runs(daemon: Daemon, people: list[Person], outcomes: dict[str, dict]) -> None:
    """The agents' own count against what people were told."""
    begun = Counter(note["key"] for note in daemon.runs("begun"))
    states = {key: outcome["state"] for key, outcome in outcomes.items()}
    promised = {key for person in people for key in person.promised}
    assert set(begun.values()) == {1}, "no prompt reached an agent twice"
    assert set(begun) <= promised | {person.unanswered_key for person in people}, (
        "no agent ran what nobody was promised"
    )
    assert {key for key, state in states.items() if state == "success"} <= set(begun), "no answer without a run"
    assert set(states.values()) <= {"success", "unknown_after_crash"}, "nothing else can have happened"
    lost = [key for key, state in states.items() if state == "unknown_after_crash" and begun[key]]
    assert lost, "no kill came while an agent ran"


def judge(facts: list[dict], people: list[Person], outcomes: dict[str, dict], *, least: int) -> None:
    payloads = defaultdict(list)
    for fact in facts:
        payloads[fact["type"]].append(fact["payload"])
    enqueued = Counter(p["message_id"] for p in payloads["JobEnqueued"])
    # A key that was refused for a full queue stands for a new try when it comes again, as «key~2».
    job_of = {p["message_id"].partition("~")[0]: p["job_id"] for p in payloads["JobEnqueued"]}
    promised = {key: job_id for person in people for key, job_id in person.promised.items()}

    assert len(promised) >= least, "too little happened to prove anything"
    assert {key: job_of.get(key) for key in promised} == promised, "every promise is in the journal"
    assert set(enqueued.values()) == {1}, "no message was taken twice"
    assert len(job_of) == len(enqueued), "nor under another name"
    started = Counter(p["job_id"] for p in payloads["JobStarted"])
    started.subtract(p["job_id"] for p in payloads["JobRequeued"])  # their agents never had the prompt
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


@pytest.mark.req("A8", "A15", "B8")
def test_agents_that_keep_count_and_outlive_a_killed_daemon_got_every_prompt_once(tmp_path):
    asyncio.run(killed(tmp_path, kills=6, seed=int(os.environ.get("FAIRLEAD_TORTURE_SEED", "1")), tool="codex"))


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(100, 105))
def test_a_hundred_and_fifty_kills(tmp_path, seed):
    asyncio.run(killed(tmp_path, kills=30, seed=seed))


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(200, 203))
def test_sixty_kills_with_agents_that_keep_count(tmp_path, seed):
    asyncio.run(killed(tmp_path, kills=20, seed=seed, tool="codex"))
