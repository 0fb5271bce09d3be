"""The blocks of a prompt: its words, its pictures where the agent sees pictures, and links to all other files."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import msgspec

from fairlead.core.engine import InputFile
from fairlead.kit.files import read_laid_out
from fairlead.runtimes.acp import wire
from fairlead.runtimes.images import media_type_of


class PromptBlocks(msgspec.Struct, frozen=True):
    """`notices` say which file the agent did not get."""

    blocks: list[dict[str, Any]]
    notices: list[str]


async def make_blocks(
    words: str, images: tuple[InputFile, ...], others: tuple[InputFile, ...], can: wire.PromptCapabilities
) -> PromptBlocks:
    """The words, then the pictures, then links to the other files; an agent that sees no pictures gets links."""
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
    made.blocks.extend(_link(file) for file in others)
    return made


def _link(file: InputFile) -> dict[str, Any]:
    kind = {"mimeType": file.media_type} if file.media_type else {}
    return {"type": "resource_link", "uri": Path(file.path).as_uri(), "name": file.name, **kind}
