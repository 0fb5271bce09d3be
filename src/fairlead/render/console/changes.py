"""The page *Changes*: all files of a turn or of a session in one scroll. On a phone lines stand below each other; on a
wide screen before and after stand side by side. Both are the same elements, which the style sheet places."""

from typing import Final

import msgspec

from fairlead.core.console_views import TurnUndo
from fairlead.core.job_names import short_name
from fairlead.core.replies import ChangesShown
from fairlead.render.changes import change_head, change_remarks, file_line, undo_sentences
from fairlead.render.console.diff_lines import DiffLine, FileDiff, Hunk, colour_hunk, group_lines
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import (
    button,
    hidden_field,
    isolate,
    job_path,
    moment,
    nothing,
    post_form,
    session_path,
)
from fairlead.render.console.session import SessionHead, composer
from fairlead.render.safe_text import one_line
from fairlead.render.words import say

_PATH: Final = 300
_MOST_LISTED: Final = 200
_LONG_FILE: Final = 600
"""A file with more lines than this is folded, so that the others are found."""
_LONGEST_QUOTATION: Final = 400


class ShownChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What changed, as it is read; `own_path` is this page's, `key` the id of the next message, and `quotation` what
    stands in the field to begin with."""

    head: SessionHead
    shown: ChangesShown
    undo: TurnUndo
    own_path: str
    key: str
    files: tuple[FileDiff, ...] = ()
    quotation: str = ""


def changes_page(changes: ShownChanges, lang: str, now: str) -> Html:
    shown = changes.shown
    base = "?scope=session&quote=" if shown.is_session else "?quote="
    remarks = [el("p", sentence, class_="warning") for sentence in change_remarks(shown, lang)]
    return el(
        "div",
        _top(changes, lang, now),
        remarks,
        _undo_part(changes, lang),
        _file_list(changes, lang) if len(changes.files) > 1 else None,
        el("p", say(lang, "console.changes.hint"), class_="hint") if changes.files else None,
        [_file_block(file, number, base, lang) for number, file in enumerate(changes.files)],
        nothing(say(lang, "console.changes.nothing")) if not changes.files else None,
        composer(changes.head, changes.key, lang, words=changes.quotation, is_elsewhere=True),
        id="page",
        class_="diffs",
    )


def quote_line(files: tuple[FileDiff, ...], place: str) -> str:
    """The line at this place as a quotation for a message; empty if there is none."""
    numbers = place.split(".")
    if len(numbers) != 3 or not all(n.isascii() and n.isdecimal() and len(n) < 7 for n in numbers):
        return ""
    file, hunk, line = map(int, numbers)
    if file >= len(files) or hunk >= len(files[file].hunks) or line >= len(files[file].hunks[hunk].lines):
        return ""
    found = files[file].hunks[hunk].lines[line]
    where = f"{one_line(files[file].change.path, _PATH)}:{found.new or found.old}"
    return f"> {where}\n> {one_line(found.quotation, _LONGEST_QUOTATION)}\n\n"


def _top(changes: ShownChanges, lang: str, now: str) -> Html:
    shown, head = changes.shown, changes.head
    other = job_path(shown.job_ids[-1], "changes") + ("" if shown.is_session else "?scope=session")
    words = say(lang, "console.changes.turn" if shown.is_session else "console.changes.session")
    whole = job_path(shown.job_ids[-1], "changes.diff") + ("?scope=session" if shown.is_session else "")
    return el(
        "div",
        el("p", el("a", isolate(head.title, 80), href=session_path(head.name)), class_="about"),
        el("h1", say(lang, "card.changes"), " ", isolate(_subject(shown, lang))),
        el("p", isolate(change_head(shown, lang)), " ", moment(shown.since, now, lang), class_="lead"),
        el(
            "div",
            el("a", words, href=other, class_="button small"),
            el("a", say(lang, "console.changes.whole"), href=whole, class_="button small") if shown.diff else None,
            _again(changes, lang) if shown.is_running else None,
            class_="row facts-row",
        ),
        id="changes-top",
    )


def _subject(shown: ChangesShown, lang: str) -> str:
    return say(lang, "tree.session") if shown.is_session else short_name(shown.job_ids[-1])


def _again(changes: ShownChanges, lang: str) -> Html:
    return el("a", say(lang, "console.changes.again"), href=changes.own_path, class_="button small")


def _file_list(changes: ShownChanges, lang: str) -> Html:
    listed = changes.files[:_MOST_LISTED]
    items = [
        el("li", el("a", isolate(file_line(file.change)), href=f"#file-{number}")) for number, file in enumerate(listed)
    ]
    more = len(changes.files) - len(listed)
    return el(
        "nav",
        el("ul", items, el("li", f"+{more}") if more else None),
        aria_label=say(lang, "console.changes.files"),
        class_="file-list",
    )


# --- what can be undone


def _undo_part(changes: ShownChanges, lang: str) -> Content:
    if changes.shown.is_session:
        return None
    undo, job_id = changes.undo, changes.shown.job_ids[-1]
    said = undo_sentences(undo.undone, lang) if undo.undone is not None else []
    return el(
        "div",
        [el("p", isolate(sentence)) for sentence in said],
        el("details", el("summary", say(lang, "card.undo")), undo_form(job_id, lang, changes.own_path))
        if undo.can_undo
        else None,
        redo_form(job_id, lang, changes.own_path) if undo.can_redo else None,
        id="undo",
    )


def undo_form(job_id: str, lang: str, back: str) -> Html:
    """Files and memory, or one of them."""
    kinds = {"both": "console.undo.both", "files": "console.undo.files", "talk": "console.undo.talk"}
    return post_form(
        job_path(job_id, "undo"),
        hidden_field("back", back),
        el("label", say(lang, "console.undo.what"), for_="undo-what"),
        el(
            "select",
            [el("option", say(lang, key), value=what) for what, key in kinds.items()],
            name="what",
            id="undo-what",
        ),
        button(say(lang, "card.undo"), kind="small danger"),
        class_="row goes-on",
    )


def redo_form(job_id: str, lang: str, back: str) -> Html:
    redo = button(say(lang, "console.do.redo"), kind="small")
    return post_form(job_path(job_id, "redo"), hidden_field("back", back), redo, class_="goes-on")


# --- files and lines


def _file_block(file: FileDiff, number: int, base: str, lang: str) -> Html:
    lines = sum(len(hunk.lines) for hunk in file.hunks)
    hunks = [_hunk_block(hunk, file.change.path, f"{base}{number}.{place}") for place, hunk in enumerate(file.hunks)]
    return el(
        "details",
        el("summary", el("h2", isolate(file_line(file.change)))),
        [el("p", mode, class_="hint") for mode in file.modes],
        hunks,
        el("p", _remark(file, lang), class_="hint"),
        id=f"file-{number}",
        class_="file",
        open=lines <= _LONG_FILE,
        data_path=one_line(file.change.path, _PATH),
    )


def _remark(file: FileDiff, lang: str) -> str:
    if file.left_out or file.is_missing:
        return say(lang, "console.changes.left_out", count=file.left_out or file.change.added + file.change.removed)
    if file.change.is_binary:
        return say(lang, "console.changes.binary")
    return "" if file.hunks else say(lang, "console.changes.no_lines")


def _hunk_block(hunk: Hunk, path: str, place: str) -> Html:
    texts = colour_hunk(hunk, path)
    blocks: list[Html] = []
    for is_same, run in group_lines(hunk):
        rows = [_rows(line, texts[at], f"{place}.{at}", is_first=at == 0) for at, line in run]
        blocks.append(el("div", rows, class_="lines same" if is_same else "lines"))
    return el(
        "div", el("p", isolate(hunk.place, 120), class_="hint place") if hunk.place else None, blocks, class_="hunk"
    )


def _rows(line: DiffLine, text: Html, place: str, *, is_first: bool) -> Content:
    """An unchanged line stands on both sides; on a phone, and for who listens, once."""
    match line.kind:
        case "removed":
            return _row("removed", line.old, text, place, is_first=is_first)
        case "added":
            return _row("added", line.new, text, place, is_first=is_first)
        case "same":
            left = el(
                "div", el("span", str(line.old), class_="n"), el("code", text), class_="line left", aria_hidden="true"
            )
            return left, _row("right", line.new, text, place, is_first=is_first)


def _row(kind: str, number: int, text: Html, place: str, *, is_first: bool) -> Html:
    """The number is a link that quotes the line. The first of each hunk is a stop of the keyboard; the arrows go on
    from there."""
    link = el("a", str(number), href=f"{place}#composer", class_="n", tabindex=None if is_first else "-1")
    return el("div", link, el("code", text), class_=f"line {kind}")
