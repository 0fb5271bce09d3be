"""A start connects to Discord before it has read the state: what comes in between waits, and is lost by nobody."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from loopback_discord import LoopbackDiscord

from fairlead.app import run_daemon
from fairlead.errors import Code, FairleadError
from fairlead.kit.files import REAL_DISK, RealDisk
from fairlead.settings import Settings, load_settings
from fairlead.settings_values import Secret
from tests.channels.discord.answers import answer_to, answers
from tests.channels.discord.harness import Daemon, a_stage, without_pace

pytestmark = pytest.mark.anyio

JOURNAL = "events.ndjson"


class HeldDisk(RealDisk):
    """Its journal is not read before `may_read` is set."""

    def __init__(self) -> None:
        self.may_read = threading.Event()

    def exists(self, path: Path) -> bool:
        """The first that a start asks about its journal."""
        if path.name == JOURNAL:
            assert self.may_read.wait(60), "nobody let the start go on"
        return super().exists(path)


@asynccontextmanager
async def a_discord(home: Path) -> AsyncIterator[tuple[LoopbackDiscord, Settings, Any]]:
    """With a server, its owner in it, and a channel; and the settings of a Fairlead there."""
    project = home / "api"
    project.mkdir()
    async with LoopbackDiscord.start() as discord:
        without_pace(discord)
        guild = discord.guild()
        discord.world.join(guild, discord.owner.user)
        settings = load_settings().replace(
            state_dir=home / "state", log_dir=home / "logs", projects=(str(project),), http=False, drain_sec=0,
            discord_token=Secret(discord.token), discord_owner_id=str(discord.owner.id), discord_api_base=discord.api,
            discord_gateway_url=discord.gateway_url,
        )  # fmt: skip
        yield discord, settings, discord.text_channel(guild)
        assert discord.violations == []


@pytest.fixture(autouse=True)
def no_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


@pytest.mark.req("A15")
async def test_what_is_said_between_identify_and_the_end_of_the_start_is_answered_once(tmp_path: Path) -> None:
    """In a channel that no conversation is bound to: nobody would read there what was missed."""
    async with a_discord(tmp_path) as (discord, settings, channel):
        disk, stop = HeldDisk(), asyncio.Event()

        async def live() -> None:
            async with run_daemon(settings, disk=disk):
                await stop.wait()

        async with asyncio.TaskGroup() as group:
            group.create_task(live())
            await discord.gateway.ready(timeout=60)
            said = discord.owner.tell_bot(channel, "is anybody there?")
            assert not (settings.state_dir / JOURNAL).exists()
            disk.may_read.set()
            await channel.wait_for_answer(lambda m: "anybody there" in m.content, after=said, timeout=60)
            stop.set()
        assert len([m for m in channel.from_bot if "anybody there" in m.content]) == 1
        assert len(discord.gateway.identifies) == 1


async def test_a_start_that_a_damaged_journal_stops_leaves_discord_and_says_why(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False) as stage:
        daemon = stage.daemon
        (tmp_path / "state").mkdir(mode=0o700)
        (tmp_path / "state" / JOURNAL).write_bytes(b'{"seq":1,"nonsense":true}\n' * 3)
        stage.owner.say(stage.owner.dm, "said before")
        await daemon.launch()
        assert daemon.process is not None
        assert await daemon.process.wait() == 78
        await daemon.stop()  # the stage then looks for no daemon
        assert "E_JOURNAL_BROKEN" in daemon.printed()
        await stage.discord.gateway.disconnected()
        assert [r for r in stage.discord.requests if r.method != "GET"] == []


@pytest.mark.req("A1")
async def test_a_second_daemon_on_the_same_state_never_shows_itself_to_discord(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        asked = len(stage.discord.requests)
        second = Daemon(stage.discord, tmp_path)
        await second.launch()
        assert second.process is not None
        assert await second.process.wait() == 75
        assert len(stage.discord.gateway.identifies) == 1
        assert [r for r in stage.discord.requests[asked:] if r.path.endswith("/users/@me")] == []
        await answer_to(stage.owner.dm, stage.owner.say(stage.owner.dm, "still you"))
        assert answers(stage.owner.dm) == ["still you"]


@pytest.mark.req("B11")
async def test_a_start_that_waits_for_room_on_the_disk_sends_one_identify(tmp_path: Path) -> None:
    """It is tried again and again; Discord resets the token of a bot that sends a thousand in a day."""
    async with a_discord(tmp_path) as (discord, settings, _):
        for connects_early in (True, False, False):
            with pytest.raises(FairleadError) as refused:
                async with run_daemon(settings, disk=FullDisk(), connects_early=connects_early):
                    pass
            assert refused.value.code is Code.E_DISK_FULL
        await discord.gateway.disconnected()
        assert len(discord.gateway.identifies) <= 1
        async with run_daemon(settings, disk=REAL_DISK, connects_early=False):
            await discord.gateway.ready(timeout=60)


class FullDisk(RealDisk):
    def open_append(self, path: Path, mode: int = 0o600) -> Any:
        if path.name == JOURNAL:
            raise OSError(28, "No space left on device", str(path))
        return super().open_append(path, mode)
