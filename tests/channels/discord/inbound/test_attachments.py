"""The controls on what is fetched: hosts, TLS, number and time, against a web server that means no good."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from loopback_discord import Fault, Upload

from fairlead.channels.discord.inbound import attachments
from fairlead.channels.discord.inbound.attachments import (
    DiscordAttachments,
    media_type,
)
from fairlead.channels.discord.outbound.message_marks import MessageMarks
from fairlead.channels.discord.outbound.remarks import Remarks
from fairlead.channels.discord.outbound.rest import CALLS_PER_SECOND, CurrentClient, RestCalls
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.push.rate_limit import RateLimit
from fairlead.core.conversation import ConversationRef
from fairlead.core.inbound import Attachment
from fairlead.core.views import JobView
from fairlead.errors import Code, FairleadError
from fairlead.kit.backoff import Backoff
from fairlead.kit.files import REAL_DISK
from fairlead.kit.tasks import TaskOwner
from fairlead.store.blobs import FileBlobs
from tests.channels.discord.answers import answer_to
from tests.channels.discord.harness import Stage, a_stage

pytestmark = pytest.mark.anyio


CDN = ("cdn.discordapp.com", "media.discordapp.net")


def a_job(*attachments: Attachment) -> JobView:
    return JobView(
        job_id="job_20260105_0001", session_key="agent:fairlead:user:1",
        conversation=ConversationRef("discord", "main", "7"), message_id="9", person="1", state="running",
        attempt=1, enqueued_at="2026-01-05T08:00:00.000Z", attachments=attachments,
    )  # fmt: skip


class Door:
    """Fetches what a job brings, and keeps what people are told about refused files."""

    def __init__(self, home: Path, hosts: tuple[str, ...]) -> None:
        self.remarks: list[str] = []
        self._home = home
        self._hosts = hosts

    async def _send(self, text: str, **_options: Any) -> None:
        self.remarks.append(text)

    async def fetch(self, *attachments: Attachment) -> tuple[Attachment, ...]:
        client: Any = SimpleNamespace(get_partial_messageable=lambda _channel_id: SimpleNamespace(send=self._send))
        rest = RestCalls(RateLimit(CALLS_PER_SECOND), CurrentClient(client))
        view: Any = SimpleNamespace(language_of=lambda _person: "en")
        blobs = FileBlobs(self._home, disk=REAL_DISK, offload=asyncio.to_thread)
        async with TaskOwner("remarks") as owner:
            remarks = Remarks(rest, SentNonces("abcd"), view, MessageMarks(rest, owner), owner=owner)
            return await DiscordAttachments(rest, blobs, hosts=self._hosts, remarks=remarks).fetch(a_job(*attachments))


@asynccontextmanager
async def a_server(handler: object) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{name}", handler)  # type: ignore[arg-type]
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.req("E8")
@pytest.mark.parametrize(
    "url",
    [
        "https://cdn.discordapp.com.evil.example/a.png", "https://cdn.discordapp.com@evil.example/a.png",
        "https://evil.example/cdn.discordapp.com/a.png", "https://evil.example#@cdn.discordapp.com/a.png",
        "https://evil.example?@cdn.discordapp.com/a.png", "https://xcdn.discordapp.com/a.png",
        "https://127.0.0.1/a.png", "http://127.0.0.1/a.png", "https://[::1]/a.png", "https://169.254.169.254/a.png",
        "https://[cdn.discordapp.com]/a.png", "//evil.example/a.png", "file:///etc/passwd",
        "http://cdn.discordapp.com/a.png", "HTTP://CDN.DISCORDAPP.COM/a.png", "ftp://cdn.discordapp.com/a.png",
        "//cdn.discordapp.com/a.png",
    ],
)  # fmt: skip
async def test_only_the_named_hosts_are_asked_and_only_by_tls(tmp_path: Path, url: str) -> None:
    door = Door(tmp_path, CDN)
    promised = Attachment(name="a.png", media_type="image/png", size=4, url=url)
    assert await door.fetch(promised) == (promised,)
    assert len(door.remarks) == 1


@pytest.mark.req("E8")
async def test_of_eleven_pictures_ten_are_taken_and_the_other_is_named(tmp_path: Path) -> None:
    async def a_picture(request: web.Request) -> web.Response:
        return web.Response(body=request.match_info["name"].encode())

    async with a_server(a_picture) as base:
        door = Door(tmp_path, ("127.0.0.1",))
        got = await door.fetch(
            *(Attachment(name=f"{n}.png", media_type="image/png", size=6, url=f"{base}/{n}.png") for n in range(11))
        )
    assert [bool(each.blob) for each in got] == [True] * 10 + [False]
    assert door.remarks == ["10.png was not sent to the agent: a message may have at most 10 images"]


@pytest.mark.req("E8")
async def test_a_file_that_comes_in_drops_is_given_up_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "TIME_LIMIT_SEC", 0.2)
    hung_up = asyncio.Event()

    async def drops(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000000"})
        await response.prepare(request)
        try:
            for _ in range(1000):
                await response.write(b"x")
                await asyncio.sleep(0.01)
        except (ConnectionError, asyncio.CancelledError):
            hung_up.set()
            raise
        return response

    async with a_server(drops) as base:
        door = Door(tmp_path, ("127.0.0.1",))
        with pytest.raises(FairleadError) as given_up:
            await door.fetch(Attachment(name="a.png", media_type="image/png", size=6, url=f"{base}/a.png"))
        assert given_up.value.code == Code.E_ATTACHMENT_GONE
        async with asyncio.timeout(5):
            await hung_up.wait()


@pytest.mark.req("E8", "A2")
async def test_a_file_whose_server_is_down_for_a_moment_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "_BACKOFF", Backoff(first=0.01, ceiling=0.01))
    troubles = [503, 429, 0]

    async def moody(request: web.Request) -> web.Response:
        match troubles.pop(0) if troubles else 200:
            case 0:
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            case 200:
                return web.Response(body=b"picture")
            case status:
                return web.Response(status=status, headers={"Retry-After": "0.02"})

    async with a_server(moody) as base:
        door = Door(tmp_path, ("127.0.0.1",))
        [got] = await door.fetch(Attachment(name="a.png", media_type="image/png", size=6, url=f"{base}/a.png"))
        assert got.blob
        assert troubles == []
        troubles += [503] * 1000
        monkeypatch.setattr(attachments, "PATIENCE_SEC", 0.1)
        with pytest.raises(FairleadError) as given_up:
            await door.fetch(Attachment(name="a.png", media_type="image/png", size=6, url=f"{base}/a.png"))
        assert given_up.value.code == Code.E_ATTACHMENT_GONE


@pytest.mark.parametrize(
    ("name", "claimed", "kind"),
    [
        ("a.png", "", "image/png"), ("a.PNG", "IMAGE/PNG", "image/png"), ("a.jpeg", "", "image/jpeg"),
        ("a", "image/webp; x=1", "image/webp"), ("a.png", "text/html", ""), ("a.svg", "image/svg+xml", ""),
        ("a.txt", "", ""),
    ],
)  # fmt: skip
def test_a_picture_is_known_by_its_type_else_by_its_extension(name: str, claimed: str, kind: str) -> None:
    assert media_type(Attachment(name=name, media_type=claimed)) == kind


async def submitted(stage: Stage, *files: Upload) -> str:
    said = stage.owner.say(stage.owner.dm, "look", files=list(files))
    return (await answer_to(stage.owner.dm, said)).content


@pytest.mark.req("E8")
async def test_a_redirect_is_not_followed(stage: Stage) -> None:
    stage.discord.faults.next("GET", "/attachments/*", Fault.redirect("http://127.0.0.1:1/secret"))
    assert "with a.png" not in await submitted(stage, Upload("a.png", b"\x89PNG", "image/png"))
    await stage.daemon.until_logged("a redirect is not followed")


@pytest.mark.req("E8")
async def test_a_file_that_claims_or_is_too_much_is_refused_and_said(stage: Stage) -> None:
    huge = Upload("huge.png", b"x" * 10, "image/png", claimed_size=21 * 1024 * 1024)
    assert "with huge.png" not in await submitted(stage, huge)
    told = await stage.owner.dm.wait_for_answer(lambda m: "huge.png" in m.content)
    assert "too large" in told.content
    liar = Upload("liar.png", b"x" * (20 * 1024 * 1024 + 1), "image/png", claimed_size=10)
    assert "with liar.png" not in await submitted(stage, liar)


@pytest.mark.req("E8")
async def test_an_address_that_expired_is_read_again(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_GLOBAL_MAX_RUNNING="1") as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "/hang")
        await thread.wait_for_typing()
        said = stage.owner.say(stage.owner.dm, "look", files=[Upload("late.png", b"\x89PNG", "image/png")])
        await stage.daemon.until_journalled("JobEnqueued", times=2)
        stage.discord.clock.advance(2 * 24 * 3600)
        await stage.owner.slash(thread, "cancel").reply()
        answer = await stage.owner.dm.wait_for_answer(after=said)
        assert "with late.png" in answer.content


@pytest.mark.req("E8", "A18")
async def test_a_file_that_is_gone_fails_the_job_with_its_code(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_GLOBAL_MAX_RUNNING="1") as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "/hang")
        await thread.wait_for_typing()
        said = stage.owner.say(stage.owner.dm, "look", files=[Upload("gone.png", b"\x89PNG", "image/png")])
        await stage.daemon.until_journalled("JobEnqueued", times=2)
        stage.discord.world.attachments.clear()
        await stage.owner.slash(thread, "cancel").reply()
        answer = await stage.owner.dm.wait_for_answer(lambda m: "E_ATTACHMENT_GONE" in m.content, after=said)
        assert "gone.png" in answer.content


@pytest.mark.req("E8")
async def test_two_files_of_one_name_are_two_files_and_a_long_name_in_any_script_is_kept_short(stage: Stage) -> None:
    """`message.txt` is what Discord calls every long paste; three bytes a character are more than a disk takes."""
    long = "\u6e2f" * 120 + ".txt"
    files = [Upload(name, data, "text/plain") for name, data in (("message.txt", b"one"), ("message.txt", b"two"))]
    await submitted(stage, *files, Upload(long, b"three", "text/plain"))
    stored = stage.daemon.journal("AttachmentsStored")[-1]["payload"]
    laid_out = sorted((stage.daemon.home / "state" / "inbox").rglob(f"{stored['job_id']}-*"))
    assert [path.read_bytes() for path in laid_out] == [b"one", b"two", b"three"]
    assert laid_out[2].name.endswith("\u6e2f.txt")
    assert len({each["blob"] for each in stored["attachments"]}) == 3


@pytest.mark.req("E8")
async def test_what_is_past_the_limit_for_all_files_together_is_told_as_that(stage: Stage) -> None:
    megabyte = 1024 * 1024
    files = [Upload(f"{n}.bin", b"x" * 18 * megabyte, "application/x-thing") for n in (1, 2, 3)]
    await submitted(stage, *files)
    told = await stage.owner.dm.wait_for_answer(lambda m: m.content.startswith("3.bin"))
    assert "18.0 MiB" in told.content
    assert "of one message is 50.0 MiB" in told.content


@pytest.mark.req("E9")
async def test_a_picture_whose_file_somebody_removed_does_not_take_the_answer_with_it(tmp_path: Path) -> None:
    """The daemon is killed in between: an attempt that runs may have read the file before it was removed."""
    async with a_stage(tmp_path) as stage:
        order = stage.discord.faults.always("POST", "/channels/*/messages", Fault.status(503))
        said = stage.owner.say(stage.owner.dm, "words with it\n/image")
        planned = await stage.daemon.until_answer_planned(said)
        await stage.daemon.kill()
        [picture] = [file for piece in planned["pieces"] for file in piece.get("files", ())]
        (stage.daemon.home / "state" / "blobs" / picture["blob"]).unlink()
        await stage.daemon.up()
        order.lift()
        answer = await answer_to(stage.owner.dm, said)
        assert "words with it" in answer.content
        assert "image-1.png" in answer.embeds[0]["description"]
