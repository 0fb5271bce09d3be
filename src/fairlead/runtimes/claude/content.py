"""A prompt for Claude: words, and pictures as content blocks. Reads the pictures' files, and nothing else."""

import base64
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlead.core.engine import InputFile
from fairlead.errors import Code, error
from fairlead.kit.files import read_laid_out
from fairlead.runtimes.images import MAX_IMAGE_BYTES, media_type_of, split_images
from fairlead.runtimes.prompts import compose, without_outside_mentions, without_slash_command
from fairlead.runtimes.workspace import ContextFile

# Claude refuses more than 10 MB on its standard input; the rest is for the envelope.
MOST_INPUT: Final = 9_500_000
LONGEST_ARGUMENT: Final = 100_000


class Content(msgspec.Struct, frozen=True):
    """`text` is all there is when `blocks` is empty. `named` are the files that it tells only the path of."""

    text: str
    blocks: tuple[dict[str, Any], ...] = ()
    named: tuple[InputFile, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def fits_an_argument(self) -> bool:
        return not self.blocks and len(self.text.encode(errors="replace")) <= LONGEST_ARGUMENT

    def for_input(self) -> str | list[dict[str, Any]]:
        return [{"type": "text", "text": self.text}, *self.blocks] if self.blocks else self.text


def content_of(
    prompt: str, files: tuple[InputFile, ...], *, note: str = "", context: tuple[ContextFile, ...] = ()
) -> Content:
    """Pictures that are too large to be sent are named like any other file: Claude can read them from there."""
    if not prompt.strip() and not files:
        raise error(Code.E_EMPTY_MESSAGE)
    words = _readable(without_outside_mentions(prompt))
    pictures, others = split_images(files)
    room = MOST_INPUT - len(words.encode())
    blocks: list[dict[str, Any]] = []
    notes: list[str] = []
    for picture in pictures:
        block, why_not = _block(picture, room)
        if block is None:
            others = (*others, picture)
            notes.append(why_not)
        else:
            room -= len(block["source"]["data"])
            blocks.append(block)
    text = without_slash_command(compose(words, note=note, context=context, files=others))
    if len(text.encode()) > MOST_INPUT:
        raise error(
            Code.E_MESSAGE_TOO_LARGE,
            f"claude accepts at most {MOST_INPUT} bytes; this prompt has {len(text.encode())}.",
        )
    return Content(text, tuple(blocks), others, tuple(notes))


def _block(picture: InputFile, room: int) -> tuple[dict[str, Any] | None, str]:
    try:
        size = Path(picture.path).stat().st_size
        if size > MAX_IMAGE_BYTES or size * 4 // 3 + 4 > room:
            return None, f"{picture.name} is too large to be sent as an image ({size} bytes); it is named instead."
        data = read_laid_out(Path(picture.path), MAX_IMAGE_BYTES)
    except OSError as fault:
        return None, f"{picture.name} could not be read: {fault.strerror}."
    source = {"type": "base64", "media_type": media_type_of(picture), "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}, ""


def _readable(words: str) -> str:
    """Lone surrogates cannot be written as UTF-8, and a NUL ends an argument."""
    return words.encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
