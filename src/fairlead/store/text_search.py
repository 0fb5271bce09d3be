"""Looking through what was said, from the end of the journal backwards, a bounded stretch at a time. Blocking; changes
nothing. An index of all words would be as large as the journal; what people look for is mostly recent.

Lines are not checked here: one that cannot be read is skipped, and `fairlead journal verify` names it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from fairlead.core import events as e
from fairlead.kit.files import Disk
from fairlead.ports import Recorded, TextLine, TextStretch
from fairlead.store import lines

_HEAD: Final = 120
"""The type of an event stands within so many bytes of its line."""
_TEXTS: Final = (e.JobEnqueued, e.JobAmended, e.JobCompleted, e.JobFailed)
_MARKS: Final = tuple(b'"type":"%s"' % kind.__name__.encode() for kind in _TEXTS)


def search_backwards(disk: Disk, journal: Path, words: Sequence[str], before: int, most_bytes: int) -> TextStretch:
    """The lines in the last `most_bytes` before this place whose text has all of the words, newest first, and those
    whose text is elsewhere, in a blob."""
    start = max(0, before - most_bytes)
    data = disk.read(journal, start, before - start)
    cut = data.find(b"\n") + 1 if start else 0
    if start and cut in {
        0,
        len(data),
    }:  # one line is longer than the stretch: it is left out, and the search goes on before it
        return TextStretch(lines=(), before=start, since="")
    found = [line for line in _texts_in(data[cut:], start + cut) if _fits(line.recorded, words)]
    return TextStretch(lines=tuple(reversed(found)), before=start + cut, since=_first_ts(data[cut:]))


def _texts_in(data: bytes, start: int) -> Iterator[TextLine]:
    at = start
    for raw in data.split(b"\n"):
        if any(mark in raw[:_HEAD] for mark in _MARKS):
            recorded = _read(raw)
            if recorded is not None:
                yield TextLine(at, recorded)
        at += len(raw) + 1


def _read(raw: bytes) -> Recorded | None:
    try:
        line = lines.line_decoder().decode(raw)
    except lines.UNREADABLE:
        return None
    return Recorded(line.seq, line.ts, line.payload)


def _fits(recorded: Recorded, words: Sequence[str]) -> bool:
    match recorded.event:
        case e.JobEnqueued(prompt=text, prompt_blob=blob) | e.JobAmended(prompt=text, prompt_blob=blob):
            return bool(blob) or has_words(text, words)
        case e.JobCompleted(text=text, text_blob=blob):
            return bool(blob) or has_words(text, words)
        case e.JobFailed(text=text):
            return has_words(text, words)
        case _:
            return False


def has_words(text: str, words: Sequence[str]) -> bool:
    lowered = text.lower()
    return all(word in lowered for word in words)


def _first_ts(data: bytes) -> str:
    try:
        return lines.head_decoder.decode(data.partition(b"\n")[0]).ts
    except lines.UNREADABLE:
        return ""
