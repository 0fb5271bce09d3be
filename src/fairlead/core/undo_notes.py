"""What an agent is told, with its next prompt, of turns that people took back or brought back. In English."""

from typing import Final

from fairlead.core.job_names import short_name
from fairlead.core.state import UndoRecord

_NAMED: Final = 20


def describe_undo(undo: UndoRecord) -> str:
    """One paragraph that agents know from a person's words by its brackets."""
    turns = ", ".join(map(short_name, reversed(undo.job_ids)))
    files = undo.files
    names = ", ".join(_quote(file.path) for file in files.files[:_NAMED])
    more = f" and {files.total - _NAMED} more" if files.total > _NAMED else ""
    if undo.redo_of:
        return f"[Fairlead: your changes of {turns}, which were undone, are back in the files: {names}{more}.]"
    said = f"[Fairlead: the person took back {turns}."
    if undo.what != "talk":
        said += f" These files are again as they were before it: {names}{more}. Read them before you rely on them."
    if undo.what != "files":
        said += " Go on as if what was said in it had not been said."
    return f"{said}]"


def _quote(path: str) -> str:
    """A name that could be read as more than a name, as another paragraph of ours for example, is shown as a string."""
    return path if path.isprintable() and not set(path) & set("[]") else ascii(path)
