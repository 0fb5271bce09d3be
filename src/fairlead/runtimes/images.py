"""Pictures on their way to and from an agent: which files are pictures, and which of an agent's are new. No network."""

import base64
import binascii
import hashlib
from pathlib import Path
from typing import Any, Final, cast

from fairlead.core.engine import ImageProduced, InputFile, Noticed
from fairlead.kit.file_names import PICTURE_TYPES

MAX_IMAGES: Final = 10
MAX_IMAGE_BYTES: Final = 20 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 50 * 1024 * 1024
MAX_BASE64_OUT: Final = 25 * 1024 * 1024

MEDIA_TYPES: Final = frozenset(PICTURE_TYPES.values())


def media_type_of(file: InputFile) -> str | None:
    """By the lower-cased content type; by the extension only where there is no content type."""
    declared = file.media_type.partition(";")[0].strip().lower()
    if declared:
        return declared if declared in MEDIA_TYPES else None
    return PICTURE_TYPES.get(Path(file.name).suffix.lower())


def split_images(files: tuple[InputFile, ...]) -> tuple[tuple[InputFile, ...], tuple[InputFile, ...]]:
    """The pictures, at most ten; then everything else, which is named in the prompt instead."""
    pictures = [file for file in files if media_type_of(file) is not None][:MAX_IMAGES]
    return tuple(pictures), tuple(file for file in files if file not in pictures)


class NewImages:
    """Lets each picture of a turn through once: agents print the same one several times. A picture over a limit is
    named instead, so that nobody waits for it."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._made = 0

    def take(self, block: Any) -> ImageProduced | Noticed | None:
        """`block` is `{"type": "image", "source": {"type": "base64", "media_type": …, "data": …}}`, or anything."""
        media_type, data = _base64_of(block)
        if media_type not in MEDIA_TYPES or not data:
            return None
        # The hash covers the whole picture: two screenshots of one size begin with the same header.
        key = hashlib.sha256(data.encode(errors="replace")).digest()
        if key in self._seen:
            return None
        if len(data) > MAX_BASE64_OUT:
            self._seen.add(key)
            return Noticed(f"A picture ({media_type}) of {len(data) * 3 // 4} bytes is too large to be sent.")
        try:
            raw = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return None
        self._seen.add(key)
        self._made += 1
        if self._made == MAX_IMAGES + 1:
            return Noticed(f"The agent made more than {MAX_IMAGES} images; only the first ones are sent.")
        return ImageProduced(media_type, raw) if self._made <= MAX_IMAGES else None


def _base64_of(block: Any) -> tuple[str, str]:
    if not isinstance(block, dict):
        return "", ""
    fields = cast("dict[str, Any]", block)
    # MCP's own shape has the data in the block itself.
    source: Any = fields.get("source", fields)
    if not isinstance(source, dict):
        return "", ""
    said = cast("dict[str, Any]", source)
    media_type, data = said.get("media_type", said.get("mimeType")), said.get("data")
    if not isinstance(media_type, str) or not isinstance(data, str):
        return "", ""
    return media_type.lower(), data
