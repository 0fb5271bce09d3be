"""C10: the code that says whose talk a message belongs to is covered to at least 90 %, branches included."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fairlead

PACKAGE = Path(fairlead.__file__).parent
TESTS = Path(__file__).parents[1]

# Each module that makes or reads session keys, or maps an entry to one, and the tests that must cover it alone.
MEASURED = {
    "core/keys.py": ["core/test_keys.py"],
    "core/identity.py": ["core/test_identity.py"],
}


@pytest.mark.req("C10")
@pytest.mark.parametrize(("module", "tests"), MEASURED.items(), ids=str)
def test_session_keys_and_entry_mapping_are_covered_to_ninety_percent(module: str, tests: list[str], tmp_path: Path):
    """In a process of its own: this one has imported everything already. Other plugins would only slow it down."""
    environment = os.environ | {"COVERAGE_FILE": str(tmp_path / "coverage"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    measured = f"--include={PACKAGE / module}"
    coverage = [sys.executable, "-m", "coverage"]
    chosen = [str(TESTS / test) for test in tests]
    pytest_run = ["-m", "pytest", "-p", "_hypothesis_pytestplugin", "--hypothesis-profile=brief", *chosen]
    ran = _run([*coverage, "run", f"--rcfile={os.devnull}", "--branch", measured, *pytest_run], environment)
    assert ran.returncode == 0, ran.stdout
    report = _run([*coverage, "report", f"--rcfile={os.devnull}", "--show-missing", "--fail-under=90"], environment)
    assert report.returncode == 0, report.stdout
    assert Path(module).name in report.stdout


def _run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=environment,
        cwd=TESTS.parent,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
