"""Fetches the files of a message under every control: host, TLS, redirects, sizes, time, names.

Pictures become blobs. Other files are laid into the session's inbox directory under their own, cleaned names.
"""

import asyncio
import hashlib
import re
import unicodedata
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from fairlead.channels.discord.inbound.inbound_message import discord_message_id
from fairlead.channels.discord.outbound.message_marks import MessageAddress
from fairlead.channels.discord.outbound.messages import megabytes
from fairlead.channels.discord.outbound.remarks import Remarks
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.inbound import Attachment
from fairlead.core.views import JobView
from fairlead.errors import Code, error
from fairlead.kit.files import make_private_directory
from fairlead.observe import log
from fairlead.ports import Blobs

MAX_FILE_BYTES: Final = 20 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 50 * 1024 * 1024
MAX_IMAGES: Final = 10
TIME_LIMIT_SEC: Final = 10.0
_MAX_NAME: Final = 100
_MAX_NAME_BYTES: Final = 200
"""A disk takes 255 bytes, and the job's id stands before the name; most scripts need three for a character."""
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_TYPES: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
}
_TOGETHER: Final = f"all files of one message together may have {megabytes(MAX_TOTAL_BYTES)}"
_UNSAFE: Final = re.compile(r"[^\w.\-+ ()]+")


class AttachmentRefused(Exception):  # noqa: N818 - a finding about one file, not a mistake
    """Why this file is not passed on; `size` if its size is the reason."""

    def __init__(self, reason: str, size: int = 0) -> None:
        super().__init__(reason)
        self.size = size


class DiscordAttachments:
    def __init__(self, rest: RestCalls, blobs: Blobs, *, hosts: tuple[str, ...], inbox: Path, remarks: Remarks) -> None:
        self._rest = rest
        self._blobs = blobs
        self._hosts = frozenset(hosts)
        self._inbox = inbox
        self._remarks = remarks

    async def fetch(self, job: JobView) -> tuple[Attachment, ...]:
        """All attachments in order. A refused file stays without its bytes, and the person is told the reason."""
        fetched: list[Attachment] = []
        budget = _MessageBudget()
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIME_LIMIT_SEC)) as web:
            for number, attachment in enumerate(job.attachments, 1):
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
                    fetched.append(await self._keep(f"{job.job_id}-{number}", job, attachment, data))
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
            raise error(Code.E_ATTACHMENT_GONE, f"{clean_name(attachment.name)} is no longer there.")
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
            await self._remarks.tell(message, job.person, "reply.file.too_large", name=name, size=size, limit=limit)
        else:
            await self._remarks.tell(message, job.person, "reply.file.refused", name=name, reason=str(refused))

    async def _download(self, web: aiohttp.ClientSession, url: str, claimed: int, room: int) -> bytes | None:
        """The bytes; None if they are no longer there. Raises AttachmentRefused for a file that must not be fetched."""
        if not url:
            return None
        self._check(url)
        if claimed > MAX_FILE_BYTES:
            raise AttachmentRefused(f"{claimed} bytes are more than the {MAX_FILE_BYTES} that are taken", claimed)
        if claimed > room:
            raise AttachmentRefused(f"it has {megabytes(claimed)}, and {_TOGETHER}")
        try:
            async with web.get(url, allow_redirects=False) as response:
                if 300 <= response.status < 400:
                    raise AttachmentRefused("a redirect is not followed")
                if response.status in {403, 404, 410}:
                    return None
                if response.status != 200:
                    raise error(Code.E_ATTACHMENT_GONE, f"the server answered {response.status}")
                data = bytearray()
                while len(data) <= room and (more := await response.content.read(room + 1 - len(data))):
                    data += more
        except (aiohttp.ClientError, TimeoutError, OSError) as fault:
            raise error(Code.E_ATTACHMENT_GONE, f"{type(fault).__name__} while fetching") from fault
        if len(data) > room:
            raise AttachmentRefused(f"it has more than {megabytes(room)}, which is not what it said of itself")
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
            message = await self._rest.once(
                Urgency.ANSWER, lambda c: c.get_partial_messageable(channel_id).fetch_message(message_id)
            )
        except DELIVERY_ERRORS:
            return {}
        return {_address(a.url): a.url for a in message.attachments}

    async def _keep(self, mark: str, job: JobView, attachment: Attachment, data: bytes) -> Attachment:
        """`mark` tells two files of one name apart."""
        name, kind = clean_name(attachment.name), media_type(attachment)
        if kind:
            blob = await self._blobs.put(data)
            return Attachment(name=name, media_type=kind, size=len(data), url=attachment.url, blob=blob)
        path = await asyncio.to_thread(
            _write_private_file, self._inbox / inbox_name(job.session_key), f"{mark}-{name}", data
        )
        return Attachment(
            name=name, media_type=attachment.media_type, size=len(data), url=attachment.url, path=str(path)
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
            raise AttachmentRefused(f"only {MAX_IMAGES} pictures go with one message")
        return min(MAX_FILE_BYTES, MAX_TOTAL_BYTES - self.bytes_fetched)


def media_type(attachment: Attachment) -> str:
    """The picture's type by its content type, else by its extension; empty for other files."""
    claimed = attachment.media_type.lower().partition(";")[0].strip()
    if claimed:
        return claimed if claimed in _TYPES.values() else ""
    return _TYPES.get(attachment.name.rpartition(".")[2].lower(), "")


def clean_name(name: str) -> str:
    """A name that can neither leave its directory, nor hide, nor be read as an option."""
    flat = name.replace("\\", "/").rpartition("/")[2]
    visible = unicodedata.normalize("NFC", "".join(char for char in flat if char.isprintable()))
    stem = _UNSAFE.sub("_", visible).strip(" .-")
    _, dot, extension = stem.rpartition(".")
    keep = f"{dot}{extension}" if dot and len(extension) <= 10 else ""
    room = _MAX_NAME_BYTES - len(keep.encode())
    short = stem.removesuffix(keep)[: _MAX_NAME - len(keep)].encode()[:room].decode(errors="ignore")
    return f"{short}{keep}".strip(" .-") or "file"


def inbox_name(session_key: str) -> str:
    """A directory per session: readable, and never two sessions in one."""
    digest = hashlib.blake2b(session_key.encode(), digest_size=4).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '-', session_key)[:80]}-{digest}"


def _write_private_file(directory: Path, name: str, data: bytes) -> Path:
    make_private_directory(directory)
    path = directory / name
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def _address(url: str) -> str:
    """The part of an address that a new signature leaves as it is."""
    return urlsplit(url).path
