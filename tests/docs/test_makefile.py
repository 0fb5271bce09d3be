"""`make` makes an environment that works, and one that does not work is in nobody's way."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PYTHON = os.path.realpath(sys.executable)
ENVIRONMENT = ".venv/bin/python"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a space in its path, as far as making the environment needs one."""
    directory = tmp_path / "my checkout"
    directory.mkdir()
    shutil.copy(REPOSITORY / "Makefile", directory)
    return directory


def make(checkout: Path, *, python: str = PYTHON) -> tuple[int, str]:
    """Without uv, which would need a Python of its own."""
    done = subprocess.run(
        ["make", f"PYTHON={python}", ENVIRONMENT],
        cwd=checkout, env={"PATH": "/usr/bin:/bin", "HOME": str(checkout)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def a_python(directory: Path, case: str) -> str:
    """This Python, but for one `case` of its arguments."""
    program = directory / "python-in-part"
    program.write_text(f'#!/bin/sh\ncase "$*" in\n{case}\nesac\nexec "{PYTHON}" "$@"\n')
    program.chmod(0o755)
    return str(program)


def has_pip(checkout: Path) -> bool:
    return subprocess.run([checkout / ENVIRONMENT, "-c", "import pip"], check=False).returncode == 0


def test_a_part_of_python_that_is_missing_is_named_and_once_it_is_there_make_works(checkout: Path, tmp_path: Path):
    without_venv = a_python(tmp_path, '*"import ensurepip"*) exit 1;;')
    code, said = make(checkout, python=without_venv)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert (code, f"sudo apt install python{version}-venv" in said) == (2, True), said
    assert not (checkout / ".venv").exists()
    code, said = make(checkout)
    assert code == 0, said
    assert "Making the environment in .venv." in said
    assert has_pip(checkout)


def test_what_a_failure_left_half_made_is_removed(checkout: Path, tmp_path: Path):
    failing = a_python(tmp_path, f'*"-m venv"*) mkdir -p .venv/bin; ln -s "{PYTHON}" .venv/bin/python; exit 1;;')
    code, _ = make(checkout, python=failing)
    assert code == 2
    assert not (checkout / ".venv").exists()


def test_an_environment_without_pip_is_made_again(checkout: Path):
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", checkout / ".venv"], check=True)
    assert not has_pip(checkout)
    code, said = make(checkout)
    assert code == 0, said
    assert has_pip(checkout)


def test_make_without_a_goal_tells_the_goals(checkout: Path):
    done = subprocess.run(["make"], cwd=checkout, capture_output=True, text=True, check=True)
    assert "make run " in done.stdout
    assert "make test " in done.stdout
