"""Fetches the files of a message under every control: host, TLS, redirects, sizes, time, names.

Each becomes a blob: where its agent finds it is the turn's business.
"""

import asyncio
from pathlib import PurePosixPath
from random import random
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from fairlead.channels.discord.inbound.inbound_message import discord_message_id
from fairlead.channels.discord.outbound.api_ban import retry_after
from fairlead.channels.discord.outbound.message_marks import MessageAddress
from fairlead.channels.discord.outbound.messages import megabytes
from fairlead.channels.discord.outbound.remarks import Remarks
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.inbound import Attachment
from fairlead.core.views import JobView
from fairlead.errors import Code, error
from fairlead.kit.backoff import Backoff
from fairlead.kit.file_names import PICTURE_TYPES, clean_name
from fairlead.observe import log
from fairlead.ports import Blobs

MAX_FILE_BYTES: Final = 20 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 50 * 1024 * 1024
MAX_IMAGES: Final = 10
TIME_LIMIT_SEC: Final = 10.0
PATIENCE_SEC: Final = 60.0
"""So long a file is asked for again after a failure that passes: a cut connection, a 429, a 5xx. A job waits for it."""
_BACKOFF: Final = Backoff(first=1.0, ceiling=15.0)
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_TOGETHER: Final = f"the limit for all files of one message is {megabytes(MAX_TOTAL_BYTES)}"


class AttachmentRefused(Exception):  # noqa: N818 - a finding about one file, not a mistake
    """Why this file is not passed on; `size` if its size is the reason."""

    def __init__(self, reason: str, size: int = 0) -> None:
        super().__init__(reason)
        self.size = size


class _PassingFault(Exception):  # noqa: N818 - a condition of the world, not a mistake
    """The file may come if it is asked for again, after `wait_sec`."""

    def __init__(self, reason: str, wait_sec: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_sec = wait_sec


class DiscordAttachments:
    def __init__(self, rest: RestCalls, blobs: Blobs, *, hosts: tuple[str, ...], remarks: Remarks) -> None:
        self._rest = rest
        self._blobs = blobs
        self._hosts = frozenset(hosts)
        self._remarks = remarks

    async def fetch(self, job: JobView) -> tuple[Attachment, ...]:
        """All attachments in order. A refused file stays without its bytes, and the person is told the reason."""
        fetched: list[Attachment] = []
        budget = _MessageBudget()
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIME_LIMIT_SEC)) as web:
            for attachment in job.attachments:
                if attachment.blob or attachment.path:
                    fetched.append(attachment)
                    continue
                try:
                    data = await self._fetch_one(web, job, attachment, budget)
                except AttachmentRefused as refused:
                    log.warning("attachment refused", job_id=job.job_id, message=str(refused))
                    fetched.append(msgspec.structs.replace(attachment, name=clean_name(attachment.name)))
                    await self._tell_refused(job, clean_name(attachment.name), refused)
                else:
                    fetched.append(await self._keep(attachment, data))
        return tuple(fetched)

    async def _fetch_one(
        self, web: aiohttp.ClientSession, job: JobView, attachment: Attachment, budget: "_MessageBudget"
    ) -> bytes:
        room = budget.room_for(attachment)
        data = await self._download(web, attachment.url, attachment.size, room)
        if data is None:
            if budget.fresh_urls is None:
                budget.fresh_urls = await self._fresh_urls(job)
            url = budget.fresh_urls.get(_address(attachment.url), "")
            data = await self._download(web, url, attachment.size, room)
        if data is None:
            raise error(Code.E_ATTACHMENT_GONE, f"{clean_name(attachment.name)} no longer exists.")
        budget.bytes_fetched += len(data)
        return data

    async def _tell_refused(self, job: JobView, name: str, refused: AttachmentRefused) -> None:
        """No file is dropped silently: a remark under the message names it."""
        message_id = discord_message_id(job)
        if message_id is None:
            return
        message = MessageAddress(int(job.conversation.conversation_id), message_id)
        if refused.size:
            size, limit = megabytes(refused.size), megabytes(MAX_FILE_BYTES)
            self._remarks.tell(message, job.person, "reply.file.too_large", name=name, size=size, limit=limit)
        else:
            self._remarks.tell(message, job.person, "reply.file.refused", name=name, reason=str(refused))

    async def _download(self, web: aiohttp.ClientSession, url: str, claimed: int, room: int) -> bytes | None:
        """The bytes; None if they are no longer there. Raises AttachmentRefused for a file that must not be fetched."""
        if not url:
            return None
        self._check(url)
        if claimed > MAX_FILE_BYTES:
            raise AttachmentRefused(f"{claimed} bytes are more than the limit of {MAX_FILE_BYTES}", claimed)
        if claimed > room:
            raise AttachmentRefused(f"it has {megabytes(claimed)}, and {_TOGETHER}")
        loop = asyncio.get_running_loop()
        attempt, deadline = 0, loop.time() + PATIENCE_SEC
        while True:
            attempt += 1
            try:
                return await self._download_once(web, url, room)
            except _PassingFault as fault:
                wait = max(_BACKOFF.delay(attempt, random), fault.wait_sec)
                if loop.time() + wait > deadline:
                    raise error(Code.E_ATTACHMENT_GONE, f"It cannot be fetched: {fault}.") from fault
                await asyncio.sleep(wait)

    async def _download_once(self, web: aiohttp.ClientSession, url: str, room: int) -> bytes | None:
        try:
            async with web.get(url, allow_redirects=False) as response:
                if 300 <= response.status < 400:
                    raise AttachmentRefused("a redirect is not followed")
                if response.status in {403, 404, 410}:
                    return None
                if response.status == 429 or response.status >= 500:
                    wait = retry_after(response.headers, default=0.0)
                    raise _PassingFault(f"the server answered {response.status}", wait)
                if response.status != 200:
                    raise error(Code.E_ATTACHMENT_GONE, f"the server answered {response.status}")
                data = bytearray()
                while len(data) <= room and (more := await response.content.read(room + 1 - len(data))):
                    data += more
        except TimeoutError as fault:
            raise error(Code.E_ATTACHMENT_GONE, f"The download timed out after {TIME_LIMIT_SEC:g} s.") from fault
        except (aiohttp.ClientError, OSError) as fault:
            raise _PassingFault(type(fault).__name__) from fault
        if len(data) > room:
            raise AttachmentRefused(f"it has more than {megabytes(room)}, which is more than announced")
        return bytes(data)

    def _check(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            host, scheme = parts.hostname or "", parts.scheme
        except ValueError:
            raise AttachmentRefused("its address cannot be read") from None
        if host not in self._hosts:
            raise AttachmentRefused(f"{host[:60]!r} is not in DISCORD_CDN_HOSTS")
        if scheme != "https" and not (scheme == "http" and host in _LOOPBACK):
            raise AttachmentRefused("its address is not https")

    async def _fresh_urls(self, job: JobView) -> dict[str, str]:
        """Discord's signed addresses expire: the message, read again, has new ones."""
        message_id = discord_message_id(job)
        if message_id is None or not job.conversation.conversation_id.isdecimal():
            return {}
        channel_id = int(job.conversation.conversation_id)
        try:
            async with asyncio.timeout(PATIENCE_SEC):
                message = await self._rest.until_done(
                    Urgency.ANSWER, lambda c: c.get_partial_messageable(channel_id).fetch_message(message_id)
                )
        except (*DELIVERY_ERRORS, TimeoutError):
            return {}
        return {_address(a.url): a.url for a in message.attachments}

    async def _keep(self, attachment: Attachment, data: bytes) -> Attachment:
        return Attachment(
            name=clean_name(attachment.name),
            media_type=media_type(attachment) or attachment.media_type,
            size=len(data),
            url=attachment.url,
            blob=await self._blobs.put(data),
        )


class _MessageBudget:
    """What the files of one message have used up, and their new addresses, which are asked for once."""

    def __init__(self) -> None:
        self.bytes_fetched = 0
        self.fresh_urls: dict[str, str] | None = None
        self._pictures = 0

    def room_for(self, attachment: Attachment) -> int:
        """The bytes that this file may have."""
        self._pictures += bool(media_type(attachment))
        if media_type(attachment) and self._pictures > MAX_IMAGES:
            raise AttachmentRefused(f"a message may have at most {MAX_IMAGES} images")
        return min(MAX_FILE_BYTES, MAX_TOTAL_BYTES - self.bytes_fetched)


def media_type(attachment: Attachment) -> str:
    """The picture's type by its content type, else by its extension; empty for other files."""
    claimed = attachment.media_type.lower().partition(";")[0].strip()
    if claimed:
        return claimed if claimed in PICTURE_TYPES.values() else ""
    return PICTURE_TYPES.get(PurePosixPath(attachment.name).suffix.lower(), "")


def _address(url: str) -> str:
    """The part of an address that a new signature leaves as it is."""
    return urlsplit(url).path
