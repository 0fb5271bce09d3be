"""What an agent writes is data: no command of ours passes an escape sequence of an agent's on to a terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import fairlead.cli
from tests.cli.harness import PATIENCE, run, surroundings

pytestmark = pytest.mark.req("C6")

CLIPBOARD = "\x1b]52;c;cm0gLXJmIH4=\x07"
CLEAR = "\x1b[2J\x1b[H"
TITLE = "\x1b]0;yours\x07"
C1_AND_TURNED = "\x9b31m\u202etxt"
HOSTILE = f"before {CLIPBOARD}{CLEAR}{TITLE}{C1_AND_TURNED} after"
SHOWN = "before <U+001B>]52;c;cm0gLXJmIH4=<U+0007><U+001B>[2J"


def run_on_terminal(home: Path, *args: str, stdin: str = "") -> str:
    """Everything that the command writes to its terminal, which is its standard output and error."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "fairlead", *args],
        env=surroundings(home, PROJECTS=project_in(home)),
        cwd=home,
        stdin=subprocess.PIPE,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        assert process.stdin is not None
        process.stdin.write(stdin.encode())
        process.stdin.close()
        written = b"".join(iter(lambda: _read_until_closed(ours), b""))
        process.wait(PATIENCE)
    os.close(ours)
    return written.decode().replace("\r\n", "\n")


def project_in(home: Path) -> str:
    (home / "proj").mkdir(exist_ok=True)
    return f'["{home / "proj"}"]'


def _read_until_closed(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux: the last writer has closed the other side
        return b""


def assert_harmless(written: str) -> None:
    assert [char for char in written if not char.isprintable() and char not in "\n\t"] == []


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A state in which an agent has answered with escape sequences."""
    assert run(tmp_path, "chat", stdin=HOSTILE, PROJECTS=project_in(tmp_path)).returncode == 0
    return tmp_path


def job_in(home: Path) -> str:
    tail = run(home, "journal", "tail", "-n", "50").stdout
    return next(word.strip('",') for word in tail.split() if word.startswith('"job_'))


def test_a_piped_message_brings_no_escape_sequence_to_the_terminal(tmp_path: Path):
    written = run_on_terminal(tmp_path, "chat", stdin=f"{HOSTILE}\n/tool Bash printf {CLEAR}\n")
    assert SHOWN in written
    assert_harmless(written)


@pytest.mark.parametrize("args", [("show", "JOB"), ("tail", "-n", "50"), ("tail", "--raw", "-n", "50")])
def test_the_journal_brings_no_escape_sequence_to_the_terminal(home: Path, args: tuple[str, ...]):
    job = job_in(home)
    written = run_on_terminal(home, "journal", *(job if word == "JOB" else word for word in args))
    assert job in written or "accepted as #1" in written
    assert_harmless(written)


def test_an_error_brings_no_escape_sequence_to_the_terminal(home: Path):
    written = run_on_terminal(home, "journal", "show", HOSTILE)
    assert "E_JOB_NOT_FOUND" in written
    assert_harmless(written)


def test_a_file_gets_the_agents_text_as_it_is(home: Path):
    assert f": {HOSTILE}\n" in run(home, "chat", stdin=HOSTILE).stdout
    assert HOSTILE in run(home, "journal", "show", job_in(home)).stdout


def test_every_command_prints_in_the_one_place_that_knows_terminals():
    package = Path(fairlead.cli.__file__).parent
    words = ("click.echo(", "stdout.write(", " stream.write(")
    printing = {file.name for file in package.glob("*.py") if any(word in file.read_text() for word in words)}
    assert printing == {"output.py"}
