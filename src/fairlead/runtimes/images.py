"""Pictures on their way to and from an agent: which files are pictures, and which of an agent's are new. No network."""

import base64
import binascii
import hashlib
from pathlib import Path
from typing import Any, Final, cast

from fairlead.core.engine import ImageProduced, InputFile

MAX_IMAGES: Final = 10
MAX_IMAGE_BYTES: Final = 20 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 50 * 1024 * 1024
MAX_BASE64_OUT: Final = 25 * 1024 * 1024

_BY_EXTENSION: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
MEDIA_TYPES: Final = frozenset(_BY_EXTENSION.values())


def media_type_of(file: InputFile) -> str | None:
    """By the lower-cased content type; by the extension only where there is no content type."""
    declared = file.media_type.partition(";")[0].strip().lower()
    if declared:
        return declared if declared in MEDIA_TYPES else None
    return _BY_EXTENSION.get(Path(file.name).suffix.lower())


def split_images(files: tuple[InputFile, ...]) -> tuple[tuple[InputFile, ...], tuple[InputFile, ...]]:
    """The pictures, at most ten; then everything else, which is named in the prompt instead."""
    pictures = [file for file in files if media_type_of(file) is not None][:MAX_IMAGES]
    return tuple(pictures), tuple(file for file in files if file not in pictures)


class NewImages:
    """Lets each picture of a turn through once: agents print the same one several times."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def take(self, block: Any) -> ImageProduced | None:
        """`block` is `{"type": "image", "source": {"type": "base64", "media_type": …, "data": …}}`, or anything."""
        media_type, data = _base64_of(block)
        if media_type not in MEDIA_TYPES or not data or len(data) > MAX_BASE64_OUT or len(self._seen) >= MAX_IMAGES:
            return None
        # The whole, not a prefix: two screenshots of one size begin with the same header.
        key = hashlib.sha256(data.encode()).digest()
        if key in self._seen:
            return None
        try:
            raw = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return None
        self._seen.add(key)
        return ImageProduced(media_type, raw)


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
