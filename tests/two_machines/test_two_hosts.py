"""Two hosts and a cut cable, where network namespaces can be made."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
OWN_NETWORK = ("unshare", "-Urn", "--kill-child", "--")
TRIAL = "unshare -n true && nsenter -t $$ -n true && ip link add one type veth peer name other"


def why_not() -> str:
    missing = [program for program in ("unshare", "nsenter", "ip") if shutil.which(program) is None]
    if missing:
        return f"{', '.join(missing)} is not installed"
    tried = subprocess.run([*OWN_NETWORK, "sh", "-c", TRIAL], capture_output=True, text=True, check=False)
    return tried.stderr.strip() or "the kernel refuses" if tried.returncode else ""


@pytest.mark.req("H6")
def test_a_turn_goes_on_behind_a_cut_cable_between_two_hosts(tmp_path: Path):
    if problem := why_not():
        pytest.skip(f"no network of its own can be made here: {problem}")
    command = [*OWN_NETWORK, sys.executable, "-m", "tests.two_machines.two_hosts", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=180)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "two jobs over a cable that was cut" in ended.stdout
