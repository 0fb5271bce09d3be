"""The controls on what is fetched: hosts, TLS, number and time, against a web server that means no good."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

from fairlead.channels.discord.inbound import attachments
from fairlead.channels.discord.inbound.attachments import DiscordAttachments
from fairlead.channels.discord.outbound.message_marks import MessageMarks
from fairlead.channels.discord.outbound.remarks import Remarks
from fairlead.channels.discord.outbound.rest import CALLS_PER_SECOND, CurrentClient, RestCalls
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.push.rate_limit import RateLimit
from fairlead.core.conversation import ConversationRef
from fairlead.core.inbound import Attachment
from fairlead.core.views import JobView
from fairlead.errors import Code, FairleadError
from fairlead.kit.files import REAL_DISK
from fairlead.kit.tasks import TaskOwner
from fairlead.store.blobs import FileBlobs

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
        client: Any = SimpleNamespace(get_partial_messageable=lambda _channel_id: SimpleNamespace(send=self._send))
        rest = RestCalls(RateLimit(CALLS_PER_SECOND), CurrentClient(client))
        view: Any = SimpleNamespace(language_of=lambda _person: "en")
        remarks = Remarks(rest, SentNonces("abcd"), view, MessageMarks(rest, TaskOwner("marks")))
        blobs = FileBlobs(home, disk=REAL_DISK, offload=asyncio.to_thread)
        self._attachments = DiscordAttachments(rest, blobs, hosts=hosts, inbox=home / "inbox", remarks=remarks)

    async def _send(self, text: str, **_options: Any) -> None:
        self.remarks.append(text)

    async def fetch(self, *attachments: Attachment) -> tuple[Attachment, ...]:
        return await self._attachments.fetch(a_job(*attachments))


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
    assert door.remarks == ["10.png was not passed on: only 10 pictures go with one message"]


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
