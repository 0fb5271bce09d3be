"""A diff on the screen: coloured, harmless, and in a pager where it is long."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from fairlead.channels.terminal import diff_view
from fairlead.channels.terminal.diff_view import colour_diff, find_pager, show_diff

pytestmark = [pytest.mark.anyio, pytest.mark.req("F2")]

DIFF = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\n unchanged\n"


def styles(diff: str) -> dict[str, str]:
    text = colour_diff(diff)
    return {text.plain[span.start : span.end].rstrip("\n"): str(span.style) for span in text.spans}


def test_lines_are_coloured_by_what_they_are():
    found = styles(DIFF)
    assert (found["-old"], found["+new"], found["@@ -1 +1 @@"]) == ("red", "green", "cyan")
    assert found["--- a/a"] == "bold"


def test_escapes_in_a_file_are_shown_and_not_obeyed():
    assert "\x1b" not in colour_diff("+\x1b[31mred\x1b[0m \x07\n").plain


@pytest.mark.parametrize(
    ("pager", "found"), [("", []), ("cat", []), ("nowhere-to-be-found", []), ("sh -c true", ["sh", "-c", "true"])]
)
def test_the_persons_pager(pager: str, found: list[str]):
    assert find_pager({"PAGER": pager, "PATH": os.environ["PATH"]}) == found


async def test_a_long_diff_goes_to_the_pager_with_its_colours_and_a_short_one_does_not(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PAGER", f"sh -c 'cat > {tmp_path}/paged'")
    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=24)
    await show_diff(console, ["head"], DIFF)
    assert not (tmp_path / "paged").exists()
    await show_diff(console, ["head"], DIFF + "+more\n" * 30)
    paged = (tmp_path / "paged").read_text()
    assert "head" in paged
    assert "\x1b[32m+more" in paged


def test_a_very_long_diff_is_shown_in_part(monkeypatch):
    monkeypatch.setattr(diff_view, "_MOST_LINES", 3)
    assert colour_diff("+a\n" * 10).plain == "+a\n+a\n+a\n…\n"
