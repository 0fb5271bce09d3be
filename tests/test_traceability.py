"""The table of requirements is true: no mark names what does not exist, and no test is missing from it."""

import ast

from tests.traceability import REQUIREMENTS, ROOT, STILL_OPEN, TABLE, _ids, proofs, table


def test_every_mark_names_a_requirement():
    unknown = [proof for proof in proofs() if proof.requirement not in REQUIREMENTS]
    assert unknown == []


def test_every_requirement_is_listed_in_its_order():
    counts = {"A": 22, "B": 15, "C": 10, "D": 7, "E": 10, "F": 9, "G": 9, "H": 8}
    assert list(REQUIREMENTS) == [f"{letter}{n}" for letter, last in counts.items() for n in range(1, last + 1)]


def test_what_is_open_is_a_requirement():
    assert set(REQUIREMENTS) >= STILL_OPEN


def test_the_table_is_up_to_date():
    assert TABLE.read_text(encoding="utf-8") == table(), "run `make docs`"


def test_marks_are_found_on_modules_and_on_tests():
    found = {(p.requirement, p.test) for p in proofs() if p.file == "tests/flow/turns/test_scheduler.py"}
    name = "test_no_more_run_at_once_than_there_are_slots"
    assert {("A16", name), ("A17", name)} <= found
    marks = ast.parse("[pytest.mark.anyio, pytest.mark.req('A1', 'B2')]", mode="eval").body
    assert list(_ids(marks)) == ["A1", "B2"]


def test_the_table_links_to_files_that_exist():
    for proof in proofs():
        assert (ROOT / proof.file).exists()
