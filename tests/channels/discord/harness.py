"""Fairlead in a process of its own, on a loopback Discord: started, killed, started again on the same state."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from loopback_discord import Clock, Conversation, LoopbackDiscord, Message, Person

COMMANDS = "/applications/*/commands"
CHECK_TEXT = "🔎"
_REPOSITORY = Path(__file__).parents[3]


class Daemon:
    """`fairlead up` as a user runs it. What it prints and logs is kept for the message of a failed test. With a `bug`
    it has one of those that `deliberate_bugs` puts in."""

    def __init__(self, discord: LoopbackDiscord, home: Path, *, bug: str = "", **settings: str) -> None:
        self.discord = discord
        self.home = home
        self.project = home / "api"
        self.project.mkdir(parents=True, exist_ok=True)
        self.program: tuple[str, ...] = ("tests.channels.discord.deliberate_bugs", bug) if bug else ("fairlead",)
        self.settings = settings | ({"PYTHONPATH": str(_REPOSITORY)} if bug else {})
        self.process: asyncio.subprocess.Process | None = None

    @property
    def environment(self) -> dict[str, str]:
        discord = self.discord
        own = {
            "PATH": f"{self.home / 'bin'}:/usr/bin:/bin",  # no agent CLI but those a test puts there
            "HOME": str(self.home),
            "STATE_DIR": str(self.home / "state"),
            "LOG_DIR": str(self.home / "logs"),
            "PROJECTS": json.dumps([str(self.project)]),
            "DISCORD_TOKEN": discord.token,
            "DISCORD_OWNER_ID": str(discord.owner.id),
            "DISCORD_API_BASE": discord.api,
            "DISCORD_GATEWAY_URL": discord.gateway_url,
            "DISCORD_CDN_HOSTS": "127.0.0.1",
            "FAIRLEAD_HTTP_PORT": "0",
            "FAIRLEAD_DRAIN_SEC": "0",
            "PYTHONFAULTHANDLER": "1",
        }
        return {name: value for name, value in (own | self.settings).items() if value != "-"}

    async def up(self, *, identifies: int | None = None) -> None:
        """Returns when the gateway session stands and the commands are registered."""
        gateway = self.discord.gateway
        wanted = identifies or sum(i.outcome == "ready" for i in gateway.identifies) + 1
        await self.launch()
        assert self.process is not None
        over = asyncio.ensure_future(self.process.wait())
        ready = asyncio.ensure_future(self._served(wanted))
        await asyncio.wait({over, ready}, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if not ready.done():
            ready.cancel()
            raise AssertionError(f"fairlead up ended:\n{self.printed()}")
        await ready

    async def _served(self, identifies: int) -> None:
        """The message by which daemons find each other is the first thing that a new process posts to the owner: what a
        test says after this is later."""
        checks = sum(map(_is_check, self.discord.requests))
        await self.discord.gateway.ready(identifies=identifies, timeout=60)
        await self.discord.wait_for(
            lambda: sum(map(_is_check, self.discord.requests)) > checks, timeout=60, what="the check for other daemons"
        )
        await self.discord.wait_for(lambda: any(self.discord.world.commands.values()), timeout=60, what="commands")

    async def launch(self) -> None:
        with (self.home / "out.txt").open("ab") as out:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", *self.program, "up", "--no-chat",
                env=self.environment, cwd=self.home, stdout=out, stderr=out,
            )  # fmt: skip

    async def kill(self) -> None:
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        await self._end(signal.SIGTERM)

    async def _end(self, number: int) -> None:
        process, self.process = self.process, None
        if process is not None and process.returncode is None:
            process.send_signal(number)
        if process is not None:
            await process.wait()

    @property
    def has_ended_by_itself(self) -> bool:
        return self.process is not None and self.process.returncode is not None

    async def cancel(self, said: Message) -> None:
        """End the job of this message and of no other: a turn that hangs lasts exactly as long as its test needs it."""
        [enqueued] = await self.until_journalled("JobEnqueued", message_id=str(said.id))
        state = self.home / "state"
        url = f"{(state / 'http-address').read_text().strip()}/v1/jobs/{enqueued['payload']['job_id']}/cancel"
        headers = {"Authorization": f"Bearer {(state / 'http-token').read_text().strip()}"}
        async with aiohttp.ClientSession(headers=headers) as http, http.post(url) as response:
            assert response.status == 200, await response.text()

    # what it left behind

    def journal(self, kind: str = "", **fields: str) -> list[dict[str, Any]]:
        """The events of this kind with these fields. A line that the daemon is still writing is left out."""
        whole_lines, _, _ = (self.home / "state" / "events.ndjson").read_bytes().rpartition(b"\n")
        events = [json.loads(line) for line in whole_lines.splitlines()]
        return [e for e in events if kind in ("", e["type"]) and fields.items() <= e["payload"].items()]

    def log(self) -> list[dict[str, Any]]:
        file = self.home / "logs" / "app.ndjson"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    async def until_journalled(
        self, kind: str, *, times: int = 1, timeout: float = 60.0, **fields: str
    ) -> list[dict[str, Any]]:
        """A file announces nothing: this is the one place that looks again and again."""
        async with asyncio.timeout(timeout):
            while len(found := self.journal(kind, **fields)) < times:
                await asyncio.sleep(0.02)
        return found

    async def until_answer_planned(self, said: Message) -> dict[str, Any]:
        """The plan of the answer to this very message: other messages of the same daemon may be answered meanwhile."""
        [enqueued] = await self.until_journalled("JobEnqueued", message_id=str(said.id))
        [planned] = await self.until_journalled("DeliveryPlanned", debt_id=f"debt_{enqueued['payload']['job_id']}")
        return planned["payload"]

    async def until_logged(self, text: str, *, timeout: float = 60.0) -> dict[str, Any]:
        async with asyncio.timeout(timeout):
            while True:
                found = [e for e in self.log() if text in json.dumps(e, ensure_ascii=False)]
                if found:
                    return found[0]
                await asyncio.sleep(0.02)

    def printed(self) -> str:
        return (self.home / "out.txt").read_text()

    def describe(self) -> str:
        """For the message of a test that waited in vain: whether the process is there, and its last words."""
        process, number = self.process, self.process.returncode if self.process else None
        state = "no daemon runs" if process is None else "the daemon runs" if number is None else f"it ended: {number}"
        last = "\n".join(map(str, self.log()[-5:]))
        return f"{state}\nprinted: {self.printed()[-2000:]}\nlogged: {last}"


def _is_check(request: Any) -> bool:
    return request.method == "POST" and isinstance(request.body, dict) and request.body.get("content") == CHECK_TEXT


class Stage:
    """A loopback Discord with a server, a channel, its owner, and a Fairlead on it."""

    def __init__(self, discord: LoopbackDiscord, daemon: Daemon, text_channel: Conversation) -> None:
        self.discord = discord
        self.daemon = daemon
        self.text_channel = text_channel

    @property
    def owner(self) -> Person:
        return self.discord.owner

    async def start_thread(self, project: str = "api") -> Conversation:
        before = {each.id for each in self.text_channel.threads()}
        await self.owner.slash(self.text_channel, "start", project_name=project).reply()
        return next(each for each in self.text_channel.threads() if each.id not in before)


def without_pace(discord: LoopbackDiscord) -> None:
    """Where pace is not the subject, nobody waits for it, and nobody is refused for being late on a busy machine."""
    discord.limits.enabled = False
    discord.world.acknowledge_within_sec = 60.0


@asynccontextmanager
async def a_stage(
    home: Path, *, paced: bool = False, up: bool = True, clock: Clock | None = None, bug: str = "", **settings: str
) -> AsyncIterator[Stage]:
    async with LoopbackDiscord.start(clock=clock) as discord:
        if not paced:
            without_pace(discord)
        guild = discord.guild()
        discord.world.join(guild, discord.owner.user)
        text_channel = discord.text_channel(guild)
        daemon = Daemon(discord, home, bug=bug, **settings)
        stage = Stage(discord, daemon, text_channel)
        discord.board.describe = lambda: f"{discord.summary()}\n{daemon.describe()}"
        try:
            if up:
                await daemon.up()
            yield stage
            problems = [e for e in daemon.log() if "crashed" in str(e.get("event"))]
            assert problems == [], problems
            assert not daemon.has_ended_by_itself, daemon.describe()
        except BaseException:
            print(daemon.printed() if (home / "out.txt").exists() else "", *daemon.log()[-15:], sep="\n")
            raise
        finally:
            await daemon.kill()
        assert discord.violations == []
