"""Worktrees in words, in every language: what was done, what stands there, and how it goes on."""

import pytest

from fairlead.core import replies as r
from fairlead.core.worktrees import MergeResult, WorktreeNotice, WorktreeWork
from fairlead.render.replies import reply_text
from fairlead.render.words import CATALOGUES
from fairlead.render.worktrees import worktree_notice

pytestmark = pytest.mark.req("F5")

ROW = r.WorktreeRow(
    number=3, session_id="s", project="api", branch="fairlead/fix", path="/wt/3-fix", status="ready", target="main"
)
WORK = WorktreeWork(uncommitted=("a\nb",), uncommitted_total=25, commits=("abc fix",), commits_total=1)
RESULT = MergeResult(
    target="main", before="b" * 40, after="c" * 40, commits_total=1, commits=("abc fix",), files_total=1, files=("x",)
)


def test_what_stands_in_a_worktree_is_shown_with_its_branch_and_path():
    shown = reply_text(r.WorktreeShown(done="shown", worktree=ROW, work=WORK), "en")
    assert "branch: fairlead/fix\nworktree: /wt/3-fix" in shown
    assert "Not committed: 25 files" in shown
    assert "  (+24)" in shown
    assert "a\nb" not in shown


@pytest.mark.parametrize("lang", CATALOGUES)
@pytest.mark.parametrize(
    "reply",
    [
        r.WorktreeShown(done="made", worktree=ROW, left_behind=2, has_submodules=True),
        r.WorktreeShown(done="restored", worktree=ROW),
        r.WorktreeShown(done="shown", worktree=ROW, work=WorktreeWork(missing=True)),
        r.WorktreeShown(done="shown", worktree=ROW, work=WorktreeWork()),
        r.WorktreeWasMerged(ROW, RESULT),
        r.WorktreeWasMerged(ROW, MergeResult(target="main", before="b", after="b")),
        r.WorktreeWasMerged(
            ROW, conflict=r.MergeConflictRow(target="main", files=("x",), files_total=1, job_id="job_20260301_0001")
        ),
        r.WorktreeWasDiscarded(ROW, "refs/fairlead/discarded/abcd/3", 7),
        r.SessionWasReset(session_key="k", cancelled=(), worktree=ROW, work=WORK),
        r.SessionWasReset(session_key="k", cancelled=(), worktree=ROW, renewed=True),
    ],
)
def test_every_reply_names_the_branch(lang: str, reply: r.Reply):
    text = reply_text(reply, lang)
    assert "fairlead/fix" in text
    assert "…}" not in text
    assert "{" not in text


def test_a_worktree_that_cannot_be_used_says_why_and_what_to_do():
    failed = r.WorktreeShown(done="shown", worktree=r.WorktreeRow(**(_fields() | {"status": "failed", "error": "x."})))
    assert "It cannot be used: x. /worktree make tries again" in reply_text(failed, "en")


def _fields() -> dict[str, object]:
    return {"number": 3, "session_id": "s", "project": "api", "branch": "fairlead/fix", "path": "/wt", "target": ""}


@pytest.mark.parametrize("what", ["made", "failed", "merged", "stopped", "discarded"])
@pytest.mark.parametrize("lang", CATALOGUES)
def test_a_notice_is_one_line_with_the_branch(lang: str, what: str):
    notice = WorktreeNotice(
        what=what,  # type: ignore[arg-type]
        number=3,
        person="ada",
        branch="fairlead/fix",
        target="main",
        count=2,
        code="E_MERGE_BLOCKED" if what in {"failed", "stopped"} else "",
        detail="line\nend",
    )
    text = worktree_notice(notice, lang)
    assert "`fairlead/fix`" in text
    assert "\n" not in text
