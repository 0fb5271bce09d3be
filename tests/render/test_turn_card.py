"""The card of a turn: short, for a phone, and nothing in it formats or mentions."""

import pytest

from fairlead.core.trees import FileChange, summarise
from fairlead.core.turn_reports import CheckRun, TurnReport
from fairlead.render.turn_card import card_lines, context_words, files_line
from fairlead.render.words import CATALOGUES

pytestmark = pytest.mark.req("F3")


def a_file(path: str, added: int = 3, removed: int = 1, *, is_binary: bool = False) -> FileChange:
    return FileChange(path=path, kind="modified", added=added, removed=removed, is_binary=is_binary)


def test_files_are_named_with_their_lines_and_the_others_are_counted():
    changed = summarise(tuple(a_file(f"src/{n}.py") for n in range(6)), 20)
    assert files_line(changed, "en") == (
        "6 files changed (+18 -6): src/0.py +3 -1, src/1.py +3 -1, src/2.py +3 -1, src/3.py +3 -1 (+2)"
    )
    assert files_line(summarise((a_file("logo.png", is_binary=True),), 20), "en") == (
        "1 file changed (+3 -1): logo.png"
    )


def test_a_strange_name_neither_mentions_nor_formats_and_a_long_one_is_cut_at_its_beginning():
    changed = summarise((a_file("@everyone_**x**.py"), a_file("d/" * 100 + "end.py")), 20)
    line = files_line(changed, "en")
    assert "`@everyone_**x**.py`" in line
    assert "end.py" in line
    assert len(line) < 200


def test_tests_are_shown_with_their_results_and_an_overlap_is_said():
    report = TurnReport(checks=(CheckRun("pytest -q", ok=True, result="5 passed"), CheckRun("npm test", ok=False)))
    lines = card_lines(summarise((a_file("a.py"),), 20), report, "en", shared_with=("job_20261117_0014",))
    assert lines[1] == "✅ pytest -q: 5 passed · ❌ npm test"
    assert "#14" in lines[2]


def test_the_context_is_told_where_it_is_known():
    assert context_words(TurnReport(context_used=50, context_size=200), "en") == "context 25%"
    assert context_words(TurnReport(), "en") == ""


@pytest.mark.parametrize("lang", CATALOGUES)
def test_every_language_fits_on_a_phone(lang: str):
    report = TurnReport(checks=tuple(CheckRun("x" * 60, ok=True, result="100 passed, 20 skipped") for _ in range(9)))
    changed = summarise(tuple(a_file(f"{'d/' * 60}{n}.py") for n in range(50)), 20)
    assert sum(map(len, card_lines(changed, report, lang))) < 600
