"""Fetches an index or an archive, within a size and a time. Knows addresses and files, not what is in them."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

import aiohttp

from fairlead.errors import Code, FairleadError, error

INDEX_BYTES: Final = 8 << 20
INDEX_SEC: Final = 20.0
ARCHIVE_BYTES: Final = 600 << 20
ARCHIVE_SEC: Final = 900.0
_BLOCK: Final = 1 << 20
_SOCKET_SEC: Final = 15.0

OnProgress = Callable[[int], None]
"""Told the number of bytes that have come."""


def is_url(where: str) -> bool:
    return "://" in where


def resolve(where: str, index: str) -> str:
    """An address in an index, which may be relative to it: a URL, or the path of a file beside an index that is one."""
    if is_url(where):
        return where
    return urljoin(index, where) if is_url(index) else str(Path(index).parent / where)


def check_origin(where: str, index: str) -> None:
    """What is run must come over TLS, or from where the owner's own setting points. Raises E_AGENT_INSTALL."""
    there, trusted = urlsplit(where), urlsplit(index)
    same_origin = (there.scheme, there.netloc) == (trusted.scheme, trusted.netloc)
    if is_url(where) and there.scheme != "https" and not same_origin:
        raise error(
            Code.E_AGENT_INSTALL,
            f"{where} is not an https address, and not at the registry's own address.",
            next_step="Ask the registry for an https address, or install the agent by hand.",
        )
    if not is_url(where) and is_url(index):
        raise error(Code.E_AGENT_INSTALL, f"The index at {index} names a file of this machine: {where}.")


async def read_index_bytes(where: str) -> bytes:
    """Raises E_AGENT_INSTALL with the reason."""
    content = bytearray()
    async for block in _blocks(where, limit=INDEX_BYTES, seconds=INDEX_SEC):
        content += block
    return bytes(content)


async def download(where: str, target: Path, on_progress: OnProgress) -> str:
    """Into a file; returns its digest. Raises E_AGENT_INSTALL with the reason."""
    digest = hashlib.sha256()
    size = 0
    with await asyncio.to_thread(target.open, "wb") as file:
        async for block in _blocks(where, limit=ARCHIVE_BYTES, seconds=ARCHIVE_SEC):
            digest.update(block)
            await asyncio.to_thread(file.write, block)
            size += len(block)
            on_progress(size)
    return f"sha256:{digest.hexdigest()}"


async def _blocks(where: str, *, limit: int, seconds: float) -> AsyncGenerator[bytes]:
    read = 0
    try:
        async for block in _read_url(where, seconds) if is_url(where) else _read_file(where):
            read += len(block)
            if read > limit:
                raise error(Code.E_AGENT_INSTALL, f"{where} is larger than {limit >> 20} MiB.")
            yield block
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as fault:
        raise _unreachable(where, fault) from None


async def _read_url(where: str, seconds: float) -> AsyncGenerator[bytes]:
    timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=_SOCKET_SEC, sock_read=_SOCKET_SEC)
    async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as http, http.get(where) as response:
        response.raise_for_status()
        for step in (*response.history, response):  # a redirect must not lead from TLS to what anybody can change
            if urlsplit(where).scheme == "https" and step.url.scheme != "https":
                raise error(Code.E_AGENT_INSTALL, f"{where} leads to {step.url}, which is not an https address.")
        async for block in response.content.iter_chunked(_BLOCK):
            yield block


async def _read_file(where: str) -> AsyncGenerator[bytes]:
    with await asyncio.to_thread(Path(where).open, "rb") as file:
        while block := await asyncio.to_thread(file.read, _BLOCK):
            yield block


def _unreachable(where: str, fault: Exception) -> FairleadError:
    match fault:
        case aiohttp.ClientResponseError():
            why = f"the server answered {fault.status}"
        case TimeoutError():
            why = "it did not answer in time"
        case OSError() if not isinstance(fault, aiohttp.ClientError):
            why = fault.strerror or str(fault)
        case _:
            why = str(fault) or type(fault).__name__
    return error(
        Code.E_AGENT_INSTALL,
        f"{where} cannot be read: {why}.",
        next_step="Check the network and FAIRLEAD_AGENT_REGISTRY, then try again.",
    )
