"""What changed in a project's files, for people: one line for each file, sentences around them, the head of a diff."""

from collections.abc import Callable, Iterable
from typing import Final

from fairlead.core.job_names import short_name
from fairlead.core.replies import ChangesShown, TurnsUndone
from fairlead.core.trees import ChangeKind, FileChange, UndoNotice
from fairlead.render.safe_text import one_line, quote_inline
from fairlead.render.words import error_line, say

Quote = Callable[[str], str]

_LETTERS: Final[dict[ChangeKind, str]] = {
    "added": "A",
    "modified": "M",
    "deleted": "D",
    "renamed": "R",
    "copied": "C",
    "type changed": "T",
}
_PATH: Final = 200
_NAMED: Final = 5
_LEFT_OUT_OF_EXCERPTS: Final = ("diff --git ", "index ", "similarity index ", "--- ", "new file mode ")


def file_line(file: FileChange) -> str:
    """`M src/app.py +3 -1`"""
    name = one_line(file.path, _PATH)
    if file.old_path:
        name = f"{one_line(file.old_path, _PATH)} → {name}"
    lines = "(binary)" if file.is_binary else f"+{file.added} -{file.removed}"
    return f"{_LETTERS[file.kind]} {name} {lines}"


def change_head(shown: ChangesShown, lang: str) -> str:
    """How much changed, in what."""
    subject = say(lang, "tree.session") if shown.is_session else short_name(shown.job_ids[-1])
    if not shown.files:
        return say(lang, "tree.none", subject=subject, project=shown.project)
    added, removed = f"+{shown.added}", f"-{shown.removed}"
    key, count = "tree.head_one" if len(shown.files) == 1 else "tree.head", str(len(shown.files))
    return say(lang, key, subject=subject, project=shown.project, count=count, added=added, removed=removed)


def change_remarks(shown: ChangesShown, lang: str, quote: Quote = str) -> list[str]:
    """What a reader must know before they trust the list. `quote` is how the channel shows a name."""
    remarks = {
        "tree.running": shown.is_running,
        "tree.late": shown.is_late,
        "tree.cut": shown.is_cut,
    }
    said = [say(lang, key) for key, is_so in remarks.items() if is_so]
    if shown.shared_with:
        said.append(say(lang, "tree.shared", jobs=", ".join(map(short_name, shown.shared_with[:_NAMED]))))
    if shown.uncovered:
        names = name_some([path.path for path in shown.uncovered], len(shown.uncovered) + shown.uncovered_more, quote)
        said.append(say(lang, "tree.uncovered", names=names))
    return said


def undo_sentences(done: TurnsUndone, lang: str, quote: Quote = str) -> list[str]:
    """What was taken back or brought back, what the agent will know of it, and the way back."""
    jobs = ", ".join(map(short_name, done.job_ids))
    if done.is_redo:
        said = [say(lang, "tree.redone_one" if done.total == 1 else "tree.redone", jobs=jobs, count=str(done.total))]
    elif done.what == "talk":
        said = [say(lang, "tree.taken_back", jobs=jobs)]
    else:
        said = [say(lang, "tree.undone_one" if done.total == 1 else "tree.undone", jobs=jobs, count=str(done.total))]
    remembered = "tree.set_forward" if done.is_redo else "tree.set_back"
    said.append(say(lang, remembered if done.is_set_back else "tree.told"))
    if done.left:
        said.append(say(lang, "tree.left", names=name_some(done.left, len(done.left), quote)))
    return said


def undo_notice(notice: UndoNotice, lang: str) -> str:
    """What a start did with an undo that it found half done."""
    if notice.code:
        jobs = ", ".join(map(short_name, notice.job_ids))
        said = say(lang, "tree.cut_off_failed", jobs=jobs, why=error_line(lang, notice.code))
        return " ".join([said, say(lang, "tree.cut_off_open")] if notice.is_open else [said])
    done = TurnsUndone(
        undo_id=notice.undo_id,
        job_ids=notice.job_ids,
        what=notice.what,
        is_redo=notice.is_redo,
        total=notice.total,
        is_set_back=notice.is_set_back,
        left=notice.left,
    )
    return " ".join([say(lang, "tree.cut_off"), *undo_sentences(done, lang, lambda name: quote_inline(name, _PATH))])


def name_some(paths: Iterable[str], total: int, quote: Quote = str) -> str:
    """The first paths, and how many more there are."""
    named = [quote(one_line(path, _PATH)) for path in paths][:_NAMED]
    more = total - len(named)
    return ", ".join(named) + (f" (+{more})" if more > 0 else "")


def excerpt(diff: str, characters: int) -> str:
    """The head of a diff, whole lines alone, without the lines that only git reads."""
    kept: list[str] = []
    room = characters
    for line in diff.splitlines():
        if line.startswith(_LEFT_OUT_OF_EXCERPTS):
            continue
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join(kept)
