"""Lines and sentences about changed files, in every language."""

import msgspec
import pytest

from fairlead.core.ids import JobId
from fairlead.core.replies import ChangesShown
from fairlead.core.trees import FileChange, UncoveredPath, UndoNotice
from fairlead.errors import Code
from fairlead.render.changes import excerpt, file_line, undo_notice
from fairlead.render.replies import reply_lines
from fairlead.render.words import CATALOGUES, MISSING

pytestmark = pytest.mark.req("F2")

SHOWN = ChangesShown(
    job_ids=("job_20261118_0012",),
    project="api",
    since="2026-11-18T03:00:00.000Z",
    files=(FileChange(path="a.py", kind="modified", added=3, removed=1),),
    added=3,
    removed=0,
    diff="diff --git a/a.py b/a.py\n",
    shared_with=("job_20261118_0013",),
    uncovered=(UncoveredPath("model.bin", "too large"),),
    uncovered_more=2,
)


def test_a_file_is_one_line():
    assert file_line(FileChange(path="a.py", kind="modified", added=3, removed=1)) == "M a.py +3 -1"
    assert file_line(FileChange(path="b", kind="renamed", old_path="a")) == "R a → b +0 -0"
    assert file_line(FileChange(path="p.png", kind="added", is_binary=True)) == "A p.png (binary)"


def test_what_a_reader_must_know_stands_before_the_list():
    assert reply_lines(SHOWN, "en") == [
        "#12 changed 1 file in api (+3 -0)",
        "Another session worked in this directory at the same time (#13): nobody can tell whose a change is.",
        "Not in the snapshots, so their changes are not shown: model.bin (+2)",
        "M a.py +3 -1",
    ]


@pytest.mark.parametrize("lang", CATALOGUES)
def test_every_language_has_every_sentence(lang: str):
    lines = reply_lines(SHOWN, lang)
    assert MISSING not in "\n".join(lines)
    assert "a.py +3 -1" in lines[-1]


@pytest.mark.req("F4")
@pytest.mark.parametrize("lang", CATALOGUES)
def test_a_start_says_what_it_did_with_an_undo_that_it_found_half_done(lang: str):
    done = UndoNotice(undo_id="undo_1", person="42", job_ids=(JobId("job_20260105_0003"),), total=3, left=("a\n@b",))
    for notice in (done, msgspec.structs.replace(done, code=Code.E_SNAPSHOT_GONE)):
        said = undo_notice(notice, lang)
        assert MISSING not in said
        assert "#3" in said
        assert "\n" not in said
    is_open = msgspec.structs.replace(done, code=Code.E_SNAPSHOT_GONE, is_open=True)
    assert undo_notice(is_open, lang).startswith(said)
    assert "/undo" in undo_notice(is_open, lang)
    assert (Code.E_SNAPSHOT_GONE in undo_notice(done, lang), Code.E_SNAPSHOT_GONE in said) == (False, True)


def test_an_excerpt_ends_at_a_line_and_leaves_out_what_only_git_reads():
    diff = "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\n"
    assert excerpt(diff, 1000) == "+++ b/a\n@@ -1 +1 @@\n-old\n+new"
    assert excerpt(diff, 22) == "+++ b/a\n@@ -1 +1 @@"
