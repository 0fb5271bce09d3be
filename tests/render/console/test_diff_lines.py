"""A diff as files, hunks and numbered lines, in colours."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.trees import FileChange
from fairlead.render.console.diff_lines import DiffLine, Hunk, colour_hunk, group_lines, read_diff

TWO_FILES = """\
diff --git a/app.py b/app.py
index 1..2 100644
--- a/app.py
+++ b/app.py
@@ -3,4 +3,4 @@ def main():
 same
-old
+new
+newer
 end
@@ -20 +21 @@
-diff --git a/x b/x
+@@ -1 +1 @@
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
diff --git a/run b/run
old mode 100644
new mode 100755
"""


def changed(path: str, **more: object) -> FileChange:
    return FileChange(path=path, kind="modified", **more)  # pyright: ignore[reportArgumentType]


@pytest.mark.req("G9")
def test_each_line_has_its_numbers_before_and_after():
    app, logo, run = read_diff([changed("app.py"), changed("logo.png", is_binary=True), changed("run")], TWO_FILES)
    assert [(line.kind, line.old, line.new, line.text) for line in app.hunks[0].lines] == [
        ("same", 3, 3, "same"),
        ("removed", 4, 0, "old"),
        ("added", 0, 4, "new"),
        ("added", 0, 5, "newer"),
        ("same", 5, 6, "end"),
    ]
    assert (app.hunks[0].place, [line.quotation for line in app.hunks[1].lines]) == (
        "def main():",
        ["-diff --git a/x b/x", "+@@ -1 +1 @@"],
    )
    assert (logo.hunks, run.hunks, run.modes) == ((), (), ("old mode 100644", "new mode 100755"))


@pytest.mark.req("G9")
def test_a_file_whose_type_changed_is_told_twice_and_is_one_file():
    head = "diff --git a/x b/x\n"
    told = f"{head}@@ -1 +0,0 @@\n-a\n{head}@@ -0,0 +1 @@\n+b\n{head.replace('x', 'y')}@@ -1 +1 @@\n-c\n+d\n"
    one, two = read_diff([FileChange(path="x", kind="type changed"), changed("y")], told)
    assert [line.text for hunk in one.hunks for line in hunk.lines] == ["a", "b"]
    assert [line.text for hunk in two.hunks for line in hunk.lines] == ["c", "d"]


@pytest.mark.req("G9")
def test_a_long_diff_is_cut_and_says_how_much_is_missing():
    lines = "".join(f"+{number}\n" for number in range(10))
    told = f"diff --git a/x b/x\n@@ -0,0 +1,10 @@\n{lines}diff --git a/y b/y\n@@ -0,0 +1,10 @@\n{lines}"
    one, two, three = read_diff([changed("x"), changed("y"), changed("z")], told, most=12)
    assert (one.left_out, two.left_out, three.is_missing) == (0, 8, True)


@pytest.mark.req("G9")
def test_returns_at_the_end_of_every_line_are_not_shown_and_single_ones_are():
    all_of_them = "diff --git a/x b/x\n@@ -1 +1 @@\n-a\r\n+b\r\n"
    (file,) = read_diff([changed("x")], all_of_them)
    assert [line.text for line in file.hunks[0].lines] == ["a", "b"]
    (file,) = read_diff([changed("x")], all_of_them.replace("a\r", "a"))
    assert "".join(colour_hunk(file.hunks[0], "x")) == "ab&lt;U+000D&gt;"


@pytest.mark.req("G9")
def test_runs_are_kept_together_for_the_two_sides():
    (file,) = read_diff([changed("app.py")], TWO_FILES)
    runs = [(is_same, [at for at, _ in run]) for is_same, run in group_lines(file.hunks[0])]
    assert runs == [(True, [0]), (False, [1, 2, 3]), (True, [4])]


@pytest.mark.req("G9")
def test_code_has_colours_also_where_its_last_line_is_empty():
    lines = (DiffLine("added", 0, 1, "def f():"), DiffLine("added", 0, 2, ""))
    assert colour_hunk(Hunk("", lines), "a.py")[0].startswith('<span class="t-k">def</span>')


@pytest.mark.req("G9", "G3")
@given(
    st.lists(st.text(max_size=30), min_size=1, max_size=6), st.sampled_from(["a.py", "a.html", "a.md", "a", "Makefile"])
)
def test_colours_change_no_character_and_open_no_tag_of_the_text(texts: list[str], path: str):
    lines = tuple(DiffLine("added", 0, n, text.replace("\n", " ")) for n, text in enumerate(texts, 1))
    shown = colour_hunk(Hunk("", lines), path)
    assert len(shown) == len(lines)
    plain = colour_hunk(Hunk("", lines), "x.unknown-ending")
    assert [unescape(re.sub(r"</?span[^<>]*>", "", one)) for one in shown] == [unescape(one) for one in plain]
    assert all(set(re.findall(r"<(/?\w+)", one)) <= {"span", "/span"} for one in shown)
