"""Files that came with a message, brought here under every control: host, TLS, redirects, sizes, time, names.

Pictures become blobs. Other files are laid into the session's inbox directory under their own, cleaned names.
"""

import asyncio
import hashlib
import re
import unicodedata
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from fairlead.channels.discord.inbound.inbound_message import discord_message_id
from fairlead.channels.discord.outbound.messages import megabytes
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


Tell = Callable[[JobView, str, "Refused"], Awaitable[None]]


class Refused(Exception):  # noqa: N818 - a finding about one file, not a mistake
    """This file is not passed on, and why; `size` if it is for its size."""

    def __init__(self, reason: str, size: int = 0) -> None:
        super().__init__(reason)
        self.size = size


class DiscordAttachments:
    def __init__(self, rest: RestCalls, blobs: Blobs, *, hosts: tuple[str, ...], inbox: Path, tell: Tell) -> None:
        self._rest = rest
        self._blobs = blobs
        self._hosts = frozenset(hosts)
        self._inbox = inbox
        self._tell = tell

    async def fetch(self, job: JobView) -> tuple[Attachment, ...]:
        """What could be had, in order; a file that is refused stays a promise, named with its reason."""
        got: list[Attachment] = []
        total = images = 0
        fresh: dict[str, str] | None = None
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIME_LIMIT_SEC)) as web:
            for number, attachment in enumerate(job.attachments, 1):
                if attachment.blob or attachment.path:
                    got.append(attachment)
                    continue
                kind = media_type(attachment)
                images += bool(kind)
                try:
                    if kind and images > MAX_IMAGES:
                        raise Refused(f"only {MAX_IMAGES} pictures go with one message")
                    room = min(MAX_FILE_BYTES, MAX_TOTAL_BYTES - total)
                    data = await self._download(web, attachment.url, attachment.size, room)
                    if data is None:
                        fresh = fresh if fresh is not None else await self._fresh_urls(job)
                        data = await self._download(web, fresh.get(_address(attachment.url), ""), attachment.size, room)
                    if data is None:
                        raise error(Code.E_ATTACHMENT_GONE, f"{clean_name(attachment.name)} is no longer there.")
                except Refused as refused:
                    log.warning("attachment refused", job_id=job.job_id, message=str(refused))
                    got.append(msgspec.structs.replace(attachment, name=clean_name(attachment.name)))
                    await self._tell(job, clean_name(attachment.name), refused)
                    continue
                total += len(data)
                got.append(await self._kept(f"{job.job_id}-{number}", job, attachment, kind, data))
        return tuple(got)

    async def _download(self, web: aiohttp.ClientSession, url: str, claimed: int, room: int) -> bytes | None:
        """The bytes; None if they are no longer there. Raises Refused for what must not be fetched."""
        if not url:
            return None
        self._check(url)
        if claimed > MAX_FILE_BYTES:
            raise Refused(f"{claimed} bytes are more than the {MAX_FILE_BYTES} that are taken", claimed)
        if claimed > room:
            raise Refused(f"it has {megabytes(claimed)}, and {_TOGETHER}")
        try:
            async with web.get(url, allow_redirects=False) as response:
                if 300 <= response.status < 400:
                    raise Refused("a redirect is not followed")
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
            raise Refused(f"it has more than {megabytes(room)}, which is not what it said of itself")
        return bytes(data)

    def _check(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            host, scheme = parts.hostname or "", parts.scheme
        except ValueError:
            raise Refused("its address cannot be read") from None
        if host not in self._hosts:
            raise Refused(f"{host[:60]!r} is not in DISCORD_CDN_HOSTS")
        if scheme != "https" and not (scheme == "http" and host in _LOOPBACK):
            raise Refused("its address is not https")

    async def _fresh_urls(self, job: JobView) -> dict[str, str]:
        """Signed addresses expire: the message, read again, has new ones."""
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

    async def _kept(self, mark: str, job: JobView, attachment: Attachment, kind: str, data: bytes) -> Attachment:
        """`mark` tells two files of one name apart."""
        name = clean_name(attachment.name)
        if kind:
            blob = await self._blobs.put(data)
            return Attachment(name=name, media_type=kind, size=len(data), url=attachment.url, blob=blob)
        path = await asyncio.to_thread(_laid_down, self._inbox / inbox_name(job.session_key), f"{mark}-{name}", data)
        return Attachment(
            name=name, media_type=attachment.media_type, size=len(data), url=attachment.url, path=str(path)
        )


def media_type(attachment: Attachment) -> str:
    """The picture's type by its content type, else by its extension; empty for what is no picture."""
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


def _laid_down(directory: Path, name: str, data: bytes) -> Path:
    make_private_directory(directory)
    path = directory / name
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def _address(url: str) -> str:
    """What stays the same when an address is signed anew."""
    return urlsplit(url).path
