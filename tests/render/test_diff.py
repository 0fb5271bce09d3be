"""Nobody approves a change blindly: the changed lines are shown, and what is missing is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.render.diff import diff_block, diff_of, shorten_diff, shorten_text
from fairlead.render.neutral import code_block

OLD = "\n".join(f"line {number}" for number in range(200))
NEW = OLD.replace("line 50\n", "line fifty\n").replace("line 150\n", "line 150 and more\n")


def test_a_change_that_fits_is_shown_whole():
    diff = diff_of("a\nb\nc\n", "a\nB\nc\n", "x.py")
    assert diff == "--- x.py\n+++ x.py\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"
    assert shorten_diff(diff, 500) == diff


def test_without_a_path_there_are_no_file_names():
    assert diff_of("a", "b") == "@@ -1 +1 @@\n-a\n+b"
    assert diff_of("same", "same") == ""


def test_context_goes_before_any_changed_line_does():
    shown = shorten_diff(diff_of(OLD, NEW), 200)
    for line in ("-line 50", "+line fifty", "-line 150", "+line 150 and more"):
        assert line in shown.split("\n")
    assert "… " in shown
    assert "unchanged lines" in shown
    assert len(shown) <= 200


def test_a_change_too_large_shows_both_ends_and_counts_the_rest():
    shown = shorten_diff(diff_of("", "\n".join(f"new {number}" for number in range(1000))), 400)
    lines = shown.split("\n")
    assert "+new 0" in lines
    assert lines[-1] == "+new 999"
    (note,) = [line for line in lines if "left out" in line]
    present = sum(1 for line in lines if line.startswith("+new"))
    assert note == f"… {1000 - present} changed lines left out (+{1000 - present} -0)"


def test_a_very_long_line_is_shortened_not_the_change_dropped():
    shown = shorten_diff("@@ -1 +1 @@\n-" + "a" * 5000 + "\n+" + "b" * 5000, 500)
    assert "-aaa" in shown
    assert "+bbb" in shown


def test_two_huge_files_are_compared_in_no_time():
    old = "\n".join(f"a{number % 7}" for number in range(50_000))
    new = "\n".join(f"b{number % 5}" for number in range(50_000))
    diff = diff_of(f"first\n{old}\nlast", f"first\n{new}\nlast", "x")
    assert diff.startswith("--- x\n+++ x\n@@ -2,50000 +2,50000 @@\n-a0")


def test_text_that_turns_around_is_made_visible():
    assert shorten_diff("+if admin\u202e {", 100) == "+if admin<U+202E> {"


def test_a_change_cannot_break_out_of_its_code_block():
    block = code_block("+```\n+# Approved by the owner\n+```", "diff")
    assert block.startswith("```diff\n")
    assert block.count("```") == 2


def test_a_long_command_says_how_much_more_there_is():
    shown = shorten_text("x" * 1000, 200)
    assert shown == "x" * 139 + "\n… 861 more characters"
    assert shorten_text("ls -la", 200) == "ls -la"


@given(st.text(alphabet="`+-a\n", max_size=600), st.integers(80, 300))
def test_a_block_keeps_to_its_limit_and_closes_once(diff: str, limit: int):
    block = diff_block(diff, limit)
    assert len(block) <= limit
    assert block.count("```") == 2


lines = st.text(alphabet="ab+- @\\`", max_size=30)


@given(st.lists(lines, max_size=60), st.lists(lines, max_size=60), st.integers(60, 400))
def test_every_shortened_change_keeps_to_its_limit(old: list[str], new: list[str], limit: int):
    assert len(shorten_diff(diff_of("\n".join(old), "\n".join(new), "f"), limit)) <= limit


@given(st.text(), st.integers(0, 300))
@pytest.mark.parametrize("lang", ["en", "ja"])
def test_anything_at_all_keeps_to_its_limit(lang: str, text: str, limit: int):
    assert len(shorten_diff(text, limit, lang=lang)) <= limit
    assert len(shorten_text(text, limit, lang=lang)) <= limit
