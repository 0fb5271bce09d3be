"""Which commands of an agent look like tests, and what their output says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.check_commands import command_of, find_check, has_passed, read_result

pytestmark = pytest.mark.req("F3")


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("pytest", "pytest"),
        ("cd /srv/api && .venv/bin/pytest -q tests/a.py 2>&1 | tail -5", "pytest -q tests/a.py"),
        ("PYTHONPATH=. python -m pytest -x", "pytest -x"),
        ("python3 -m unittest discover", "unittest discover"),
        ("uv run --frozen pytest", "pytest"),
        ("timeout 60 poetry run pytest", "pytest"),
        ("sudo -E env CI=1 npm test", "npm test"),
        ("npm run test:unit -- --watch=false", "npm run test:unit -- --watch=false"),
        ("yarn test", "yarn test"),
        ("npx jest src", "jest src"),
        ("go test ./...", "go test ./..."),
        ("cargo test --workspace", "cargo test --workspace"),
        ("cargo +nightly nextest run", "cargo +nightly nextest run"),
        ("make -C sub test-long", "make -C sub test-long"),
        ("make check", "make check"),
        ("./gradlew test", "gradlew test"),
        ("node --test", "node --test"),
        ("bundle exec rspec", "rspec"),
        ("bash -lc 'cd x; pytest -q'", "pytest -q"),
        ('/bin/bash -lc "npm test"', "npm test"),
        ("dotnet test", "dotnet test"),
    ],
)
def test_tests_are_recognised_behind_whatever_stands_before_them(command: str, shown: str):
    assert find_check(command) == shown


@pytest.mark.parametrize(
    "command",
    [
        *("ls", "cat test.py", "git commit -m 'pytest passes'", "echo pytest", "npm install", "make", "go build ./..."),
        *("grep -r pytest .", "pip install pytest", "cargo build", "", "   ", "npm run build", "make install", "'"),
    ],
)
def test_other_commands_are_not(command: str):
    assert find_check(command) == ""


def test_a_long_command_is_shortened():
    assert len(find_check("pytest " + "x" * 500)) == 60


@pytest.mark.parametrize(
    ("output", "result"),
    [
        ("collected 6 items\n\n==== 1 failed, 5 passed in 0.12s ====\n", "1 failed, 5 passed"),
        ("Tests:       1 failed, 5 passed, 6 total\nTime: 1 s", "1 failed, 5 passed"),
        ("test result: ok. 5 passed; 0 failed; 1 ignored", "5 passed, 0 failed"),
        ("  12 passing (30ms)\n  1 failing\n", "1 failing"),
        ("ok  \texample.com/x\t0.1s", ""),
        ("", ""),
    ],
)
def test_the_counts_are_read_from_the_last_line_that_has_some(output: str, result: str):
    assert read_result(output) == result


def test_a_command_behind_a_pipe_has_failed_if_its_counts_say_so():
    assert has_passed(ok=True, result="5 passed, 0 failed")
    assert not has_passed(ok=True, result="1 failed, 5 passed")
    assert not has_passed(ok=False, result="")


def test_only_a_shells_command_is_looked_at_in_whatever_form_it_is_given():
    assert command_of("Bash", {"command": "pytest"}) == "pytest"
    assert command_of("command_execution", {"command": ["bash", "-lc", "npm test"]}) == "bash -lc 'npm test'"
    assert command_of("execute", {"cmd": "go test"}) == "go test"
    assert command_of("Edit", {"command": "pytest"}) == ""
    assert command_of("Bash", {"command": 7}) == ""
    assert command_of("Bash", {}) == ""


@given(st.text())
def test_no_text_is_too_strange(text: str):
    assert isinstance(find_check(text), str)
    assert isinstance(read_result(text), str)
