"""Names and types of files as they came from outside, made safe for a disk, a command line and a prompt. No files."""

import mimetypes
import re
import unicodedata
from pathlib import PurePosixPath
from typing import Final

PICTURE_TYPES: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
_MAX_NAME: Final = 100
_MAX_NAME_BYTES: Final = 200
"""A disk takes 255 bytes, and more is put before the name and behind it; most scripts need three for a character."""
_MAX_EXTENSION: Final = 10
_UNSAFE: Final = re.compile(r"[^\w.\-+ ()]+")
# Programs that read a path in a line of text end it at one of these.
_SPLITTING: Final = re.compile(r"[ ()]+")
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9.+_-]*/[a-z0-9][a-z0-9.+_-]*")


def clean_name(name: str) -> str:
    """A name that can neither leave its directory, nor hide, nor be read as an option."""
    flat = name.replace("\\", "/").rpartition("/")[2]
    visible = unicodedata.normalize("NFC", "".join(char for char in flat if char.isprintable()))
    stem = _UNSAFE.sub("_", visible).strip(" .-")
    _, dot, extension = stem.rpartition(".")
    keep = f"{dot}{extension}" if dot and len(extension) <= _MAX_EXTENSION else ""
    room = _MAX_NAME_BYTES - len(keep.encode())
    short = stem.removesuffix(keep)[: _MAX_NAME - len(keep)].encode()[:room].decode(errors="ignore")
    return f"{short}{keep}".strip(" .-") or "file"


def clean_media_type(media_type: str) -> str:
    """In lower case and without parameters; empty if it is no media type."""
    bare = media_type.partition(";")[0].strip().lower()
    return bare if _MEDIA_TYPE.fullmatch(bare) else ""


def name_on_disk(name: str, media_type: str) -> str:
    """A clean name without spaces, whose extension says what the file is: some programs know a file by that alone."""
    safe = _SPLITTING.sub("_", clean_name(name))
    return f"{safe}{_missing_extension(safe, clean_media_type(media_type))}"


def _missing_extension(name: str, media_type: str) -> str:
    extension = PurePosixPath(name).suffix.lower()
    if media_type in PICTURE_TYPES.values():
        fits = PICTURE_TYPES.get(extension) == media_type
        return "" if fits else next(ending for ending, kind in PICTURE_TYPES.items() if kind == media_type)
    return "" if extension else mimetypes.guess_extension(media_type) or ""


def media_type_of_name(name: str) -> str:
    """What the extension says the file is; empty if it says nothing."""
    extension = PurePosixPath(name).suffix.lower()
    return PICTURE_TYPES.get(extension) or mimetypes.guess_type(f"file{extension}")[0] or ""
