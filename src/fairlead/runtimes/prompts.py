"""The prompt as an agent gets it: what the workspace says, the files, and the person's own words. Pure."""

import re

from fairlead.core.engine import InputFile
from fairlead.runtimes.workspace import ContextFile

WORD_JOINER = "\u2060"
# Claude and Gemini read the file after an @ into the prompt. Inside the project that is a convenience; a path that
# leads out of it could be a stranger's words that somebody pasted.
_MENTION_OUTSIDE = re.compile(r"@(?=[\"'\\]*(?:[/~]|\S*\.\.))")
_QUOTED_LINE = re.compile(r"^>.*@.*$", re.MULTILINE)


def compose(
    words: str, *, note: str = "", context: tuple[ContextFile, ...] = (), files: tuple[InputFile, ...] = ()
) -> str:
    """The person's words come last, and alone when there is nothing to add. What they quote names no file."""
    words = _QUOTED_LINE.sub(lambda line: line[0].replace("@", "@" + WORD_JOINER), words)
    parts = [f'<context file="{file.name}">\n{file.text.strip()}\n</context>' for file in context]
    if note.strip():
        parts.append(f"<workspace-note>\n{note.strip()}\n</workspace-note>")
    if files:
        parts.append("Files that came with this message:\n" + "\n".join(f"- {describe_file(file)}" for file in files))
    return "\n\n".join([*parts, words]) if parts else words


def describe_file(file: InputFile) -> str:
    kind = f" ({file.media_type})" if file.media_type else ""
    return f"{file.name}{kind}: {file.path}"


def without_outside_mentions(words: str) -> str:
    return _MENTION_OUTSIDE.sub("@" + WORD_JOINER, words)


def without_slash_command(words: str) -> str:
    """Claude would obey `/clear` and drop its session without telling; with a space before it, it is only text."""
    return f" {words}" if words.startswith("/") else words
