"""Worktrees in words: what a command did, what stands in one, and what people are told without having asked."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from fairlead.core import replies as r
from fairlead.core.job_names import short_name
from fairlead.core.worktrees import NoticeKind, WorktreeNotice, WorktreeWork
from fairlead.render.safe_text import one_line
from fairlead.render.words import error_line, say

_NAME: Final = 100
_SHORT: Final = 10
"""So many digits of a commit name it for people."""

_NOTICES: Final[dict[NoticeKind, str]] = {
    "made": "worktree.notice.made",
    "failed": "worktree.notice.failed",
    "merged": "worktree.notice.merged",
    "stopped": "worktree.notice.stopped",
    "discarded": "worktree.notice.discarded",
}

Quote = Callable[[str], str]


class ShownWorktree(msgspec.Struct, frozen=True, kw_only=True):
    sentences: tuple[str, ...]
    rows: tuple[str, ...] = ()


Render = Callable[[Any, str, Quote], ShownWorktree]


def row_lines(row: r.WorktreeRow) -> list[str]:
    """The fields of a worktree as reports have them."""
    lines = [f"branch: {row.branch}", f"worktree: {row.path}"]
    return lines if row.status == "ready" else [*lines, f"worktree_status: {row.status}"]


def _names(names: tuple[str, ...], total: int) -> list[str]:
    shown = [f"  {one_line(name, _NAME)}" for name in names]
    return [*shown, f"  (+{total - len(names)})"] if total > len(names) else shown


def _work_rows(work: WorktreeWork, lang: str) -> list[str]:
    rows: list[str] = []
    if work.uncommitted_total:
        rows.append(say(lang, "worktree.uncommitted", count=work.uncommitted_total))
        rows += _names(work.uncommitted, work.uncommitted_total)
    if work.commits_total:
        rows.append(say(lang, "worktree.commits", count=work.commits_total))
        rows += _names(work.commits, work.commits_total)
    return rows


def _render_shown(reply: r.WorktreeShown, lang: str, quote: Quote) -> ShownWorktree:
    row = reply.worktree
    key = {"shown": "worktree.shown", "made": "worktree.made", "restored": "worktree.restored"}
    fields = {"number": row.number, "branch": quote(row.branch), "target": quote(row.target) if row.target else ""}
    sentences = [say(lang, key[reply.done], **fields)]
    if reply.left_behind:
        sentences.append(say(lang, "worktree.left_behind", count=reply.left_behind))
    if reply.has_submodules:
        sentences.append(say(lang, "worktree.submodules"))
    if row.error:
        sentences.append(say(lang, "worktree.failed", error=one_line(row.error, 300)))
    elif reply.work is not None and reply.work.missing:
        sentences.append(say(lang, "worktree.missing"))
    elif reply.work is not None and reply.work.is_nothing:
        sentences.append(say(lang, "worktree.nothing"))
    rows = [*row_lines(row), *(_work_rows(reply.work, lang) if reply.work is not None else [])]
    return ShownWorktree(sentences=tuple(sentences), rows=tuple(rows))


def _render_list(catalogue: r.WorktreeCatalogue, lang: str, _quote: Quote) -> ShownWorktree:
    if not catalogue.worktrees and not catalogue.discarded:
        return ShownWorktree(sentences=(say(lang, "worktree.list.none"),))
    rows = [f"{w.number}. {w.branch}  {w.project}  {w.status}  {w.session_id}  {w.path}" for w in catalogue.worktrees]
    kept = [f"{d.number}. {d.branch}  {d.project}  {d.discarded_at[:10]}" for d in catalogue.discarded]
    if kept:
        rows += [say(lang, "worktree.list.kept"), *kept]
    return ShownWorktree(sentences=(), rows=tuple(rows))


def _render_merge(reply: r.WorktreeWasMerged, lang: str, quote: Quote) -> ShownWorktree:
    result, branch = reply.result, quote(reply.worktree.branch)
    if result is None:
        return _render_conflict(reply, lang, quote)
    if not result.commits_total:
        nothing = say(lang, "worktree.merged_nothing", branch=branch, target=quote(result.target))
        return ShownWorktree(sentences=(nothing,))
    merged = say(
        lang,
        "worktree.merged",
        branch=branch,
        target=quote(result.target),
        commits=result.commits_total,
        files=result.files_total,
    )
    rows = [
        f"{result.target}: {result.before[:_SHORT]} → {result.after[:_SHORT]}",
        *_names(result.commits, result.commits_total),
        *_names(result.files, result.files_total),
    ]
    return ShownWorktree(sentences=(merged, say(lang, "worktree.goes_on")), rows=tuple(rows))


def _render_conflict(reply: r.WorktreeWasMerged, lang: str, quote: Quote) -> ShownWorktree:
    conflict = reply.conflict
    assert conflict is not None, "a merge has a result or a conflict"
    sentence = say(
        lang,
        "worktree.conflict",
        branch=quote(reply.worktree.branch),
        target=quote(conflict.target),
        count=conflict.files_total,
        job=short_name(conflict.job_id),
    )
    return ShownWorktree(sentences=(sentence,), rows=tuple(_names(conflict.files, conflict.files_total)))


def _render_discard(reply: r.WorktreeWasDiscarded, lang: str, quote: Quote) -> ShownWorktree:
    row = reply.worktree
    sentences = [say(lang, "worktree.discarded", branch=quote(row.branch))]
    if reply.ref:
        sentences.append(say(lang, "worktree.kept", days=reply.days, number=row.number, ref=quote(reply.ref)))
    return ShownWorktree(sentences=tuple(sentences))


def _render_default(reply: r.ProjectWorktreesChosen, lang: str, _quote: Quote) -> ShownWorktree:
    key = "worktree.default_on" if reply.worktree else "worktree.default_off"
    return ShownWorktree(sentences=(say(lang, key, project=reply.project),))


def after_reset(done: r.SessionWasReset, lang: str) -> list[str]:
    """What stands in the worktree of a session that was reset."""
    if done.worktree is None:
        return []
    if done.renewed:
        return [say(lang, "worktree.renewed", branch=done.worktree.branch)]
    rows = _work_rows(done.work, lang) if done.work is not None else []
    return [say(lang, "worktree.stays", branch=done.worktree.branch), *rows]


def worktree_notice(notice: WorktreeNotice, lang: str) -> str:
    """What a person is told without having asked, in one line."""
    why = error_line(lang, notice.code, detail=one_line(notice.detail, 300)) if notice.code else ""
    return say(
        lang,
        _NOTICES[notice.what],
        number=notice.number,
        branch=f"`{notice.branch}`",
        target=f"`{notice.target}`" if notice.target else "",
        count=notice.count if notice.count or notice.what == "merged" else "",
        files=", ".join(one_line(name, _NAME) for name in notice.files),
        why=why,
    )


RENDERERS: Final[dict[type[msgspec.Struct], Render]] = {
    r.WorktreeShown: _render_shown,
    r.WorktreeCatalogue: _render_list,
    r.WorktreeWasMerged: _render_merge,
    r.WorktreeWasDiscarded: _render_discard,
    r.ProjectWorktreesChosen: _render_default,
}
