"""The page *Changes*, as HTML."""

import pytest

from fairlead.core.console_views import TurnUndo
from fairlead.core.replies import ChangesShown, TurnsUndone
from fairlead.core.trees import FileChange
from fairlead.render.console.changes import ShownChanges, changes_page, quote_line
from fairlead.render.console.diff_lines import read_diff
from fairlead.render.console.session import SessionHead
from tests.channels.http.console.harness import tags_in

NOW = "2026-11-18T10:00:00.000Z"
EVIL = '"><script>alert(1)</script>\u202e.py'
DIFF = "diff --git a/x b/x\n@@ -1,3 +1,3 @@ <b>\n same\n-<i>old</i>\n+<i>new</i>\n last\n"


NO_UNDO = TurnUndo()


def page(undo: TurnUndo = NO_UNDO) -> str:
    change = FileChange(path=EVIL, kind="modified", added=1, removed=1)
    shown = ChangesShown(job_ids=("job_1",), project="proj", since=NOW, files=(change,), diff=DIFF, added=1, removed=1)
    changes = ShownChanges(
        head=SessionHead(name="s", title="<u>title</u>"),
        shown=shown,
        files=read_diff((change,), DIFF),
        undo=undo,
        own_path="/console/job/job_1/changes",
        key="k",
    )
    return changes_page(changes, "en", NOW)


@pytest.mark.req("G9", "G3")
def test_names_and_lines_are_text():
    html = page()
    assert {tag for tag, _ in tags_in(html)}.isdisjoint({"script", "i", "b", "u"})
    assert "\u202e" not in html


@pytest.mark.req("G9")
def test_an_unchanged_line_stands_on_both_sides_and_is_told_once():
    rows = [
        (a.get("class"), a.get("aria-hidden")) for _, a in tags_in(page()) if (a.get("class") or "").startswith("line ")
    ]
    assert rows == [
        ("line left", "true"),
        ("line right", None),
        ("line removed", None),
        ("line added", None),
        ("line left", "true"),
        ("line right", None),
    ]


@pytest.mark.req("G9")
def test_a_line_is_quoted_with_its_place():
    change = FileChange(path=EVIL, kind="modified")
    files = read_diff((change,), DIFF)
    assert quote_line(files, "0.0.1") == '> "><script>alert(1)</script>.py:2\n> -<i>old</i>\n\n'
    assert [quote_line(files, place) for place in ("", "0.0", "9.0.0", "0.9.0", "0.0.9", "a.b.c", "-1.0.0")] == [""] * 7


@pytest.mark.req("G9")
def test_undo_and_redo_are_offered_where_they_apply():
    def actions(undo: TurnUndo) -> list[str]:
        return [a["action"] or "" for tag, a in tags_in(page(undo)) if tag == "form" and "/job/" in (a["action"] or "")]

    undone = TurnsUndone(undo_id="undo_1", job_ids=("job_1",), what="files", total=1, left=("kept.txt",))
    assert actions(NO_UNDO) == []
    assert actions(TurnUndo(can_undo=True)) == ["/console/job/job_1/undo"]
    assert actions(TurnUndo(can_redo=True, undone=undone)) == ["/console/job/job_1/redo"]
    assert "kept.txt" in page(TurnUndo(undone=undone))
