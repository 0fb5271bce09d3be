"""The blocks of a prompt: its words, its pictures and texts where the agent takes them, and links to other files."""

import asyncio
import base64
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlead.core.engine import InputFile
from fairlead.kit.files import read_laid_out
from fairlead.runtimes.acp import wire
from fairlead.runtimes.images import media_type_of

MOST_TEXT: Final = 100_000
"""Bytes of all the texts that go into one prompt: more would fill the context of the agent's model."""


class PromptBlocks(msgspec.Struct, frozen=True):
    """`notices` say which file the agent did not get."""

    blocks: list[dict[str, Any]]
    notices: list[str]


async def make_blocks(
    words: str, images: tuple[InputFile, ...], others: tuple[InputFile, ...], can: wire.PromptCapabilities
) -> PromptBlocks:
    """The words, then the pictures, then the other files. An agent that reads nothing outside of the project cannot
    follow a link, so a text goes into the prompt; one that does not take pictures or texts gets links to them."""
    made = PromptBlocks([{"type": "text", "text": words}] if words else [], [])
    if not can.image:
        images, others = (), (*images, *others)
    for image in images:
        try:
            data = await asyncio.to_thread(read_laid_out, Path(image.path))
        except OSError as fault:
            made.notices.append(f"{image.name} could not be read: {fault.strerror}.")
            continue
        encoded = base64.b64encode(data).decode()
        made.blocks.append({"type": "image", "mimeType": media_type_of(image), "data": encoded})
    room = MOST_TEXT if can.embedded_context else 0
    for file in others:
        text = await asyncio.to_thread(_read_text, Path(file.path), room)
        room -= len(text)
        made.blocks.append(_embed(file, text.decode()) if text else _link(file))
    return made


def _read_text(path: Path, room: int) -> bytes:
    """Empty for a file that is no text, cannot be read, or is longer than there is room."""
    try:
        data = read_laid_out(path, room + 1)
        data.decode()
    except (OSError, UnicodeDecodeError):
        return b""
    return b"" if len(data) > room or b"\0" in data else data


def _embed(file: InputFile, text: str) -> dict[str, Any]:
    resource = {"uri": Path(file.path).as_uri(), "mimeType": file.media_type or "text/plain", "text": text}
    return {"type": "resource", "resource": resource}


def _link(file: InputFile) -> dict[str, Any]:
    kind = {"mimeType": file.media_type} if file.media_type else {}
    return {"type": "resource_link", "uri": Path(file.path).as_uri(), "name": file.name, **kind}
