"""The templates for systemd and launchd fit the program they start."""

import configparser
import os
import plistlib
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from fairlead.cli.exit_codes import EXIT_CONFIG, EXIT_LOCKED
from fairlead.cli.shipped_files import shipped_file
from fairlead.settings import read_settings

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "packaging" / "fairlead.service"
PLIST = ROOT / "packaging" / "dev.fairlead.plist"
RUNNER_UNIT = ROOT / "packaging" / "fairlead-runner.service"
RUNNER_PLIST = ROOT / "packaging" / "dev.fairlead.runner.plist"
TIME_TO_CLOSE_SEC = 10

pytestmark = pytest.mark.req("A21")


@pytest.fixture
def service() -> configparser.SectionProxy:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read(UNIT)
    assert unit["Install"]["WantedBy"] == "default.target"
    return unit["Service"]


def test_the_unit_restarts_after_a_crash_but_not_where_a_person_is_needed(service: configparser.SectionProxy):
    assert service["Restart"] == "on-failure"
    assert set(service["RestartPreventExitStatus"].split()) == {str(EXIT_LOCKED), str(EXIT_CONFIG)}


def test_the_unit_leaves_running_jobs_their_time_and_nothing_behind(service: configparser.SectionProxy):
    assert service["KillMode"] == "control-group"
    assert float(service["TimeoutStopSec"]) > read_settings(None).drain_sec + TIME_TO_CLOSE_SEC


def test_the_unit_only_serves_and_names_a_path(service: configparser.SectionProxy):
    assert service["ExecStart"].endswith("/.venv/bin/fairlead up --no-chat")
    assert service["Environment"].startswith("PATH=")


@pytest.mark.skipif(which("systemd-analyze") is None, reason="systemd is not here; the units were parsed instead")
@pytest.mark.req("H1")
@pytest.mark.parametrize("unit", [UNIT, RUNNER_UNIT], ids=lambda unit: unit.name)
def test_systemd_finds_nothing_to_complain_of(unit: Path, tmp_path: Path):
    program = unit.read_text().replace("%h/fairlead/.venv/bin", "%h/.local/bin")
    here = program.replace("%h/.local/bin/fairlead", str(Path(sys.executable).parent / "fairlead"))
    (tmp_path / unit.name).write_text(here.replace("%h/fairlead", str(tmp_path)))
    looked = subprocess.run(
        ["systemd-analyze", "--user", "verify", unit.name],
        cwd=tmp_path,
        env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (looked.returncode, looked.stderr) == (0, "")


def test_the_plist_starts_the_same_program_and_waits_as_long(service: configparser.SectionProxy):
    plist = plistlib.loads(PLIST.read_bytes())
    assert plist["ProgramArguments"][1:] == service["ExecStart"].split()[1:]
    assert plist["ExitTimeOut"] == int(service["TimeoutStopSec"])
    assert plist["KeepAlive"] == {"SuccessfulExit": False}
    assert "PATH" in plist["EnvironmentVariables"]


@pytest.fixture
def runner_service() -> configparser.SectionProxy:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read(RUNNER_UNIT)
    assert unit["Install"]["WantedBy"] == "default.target"
    return unit["Service"]


@pytest.mark.req("H1")
def test_a_runner_is_a_service_like_the_daemon(
    service: configparser.SectionProxy, runner_service: configparser.SectionProxy
):
    assert runner_service["ExecStart"].endswith("/fairlead runner run")
    for key in ("Restart", "RestartPreventExitStatus", "KillMode", "TimeoutStopSec", "Environment"):
        assert runner_service[key] == service[key], key


@pytest.mark.req("H1")
def test_the_plist_of_a_runner_starts_the_same_program_and_waits_as_long(runner_service: configparser.SectionProxy):
    plist = plistlib.loads(RUNNER_PLIST.read_bytes())
    assert plist["Label"] == RUNNER_PLIST.name.removesuffix(".plist")
    assert plist["ProgramArguments"][1:] == runner_service["ExecStart"].split()[1:]
    assert plist["ExitTimeOut"] == int(runner_service["TimeoutStopSec"])
    assert plist["KeepAlive"] == {"SuccessfulExit": False}
    assert "PATH" in plist["EnvironmentVariables"]


@pytest.mark.req("H1")
def test_every_file_that_a_message_names_is_there_and_in_the_package():
    packed = (ROOT / "pyproject.toml").read_text()
    for name in ("fairlead-runner.service", "dev.fairlead.runner.plist"):
        assert shipped_file(name).exists()
        assert f'"packaging/{name}" = "fairlead/shipped/{name}"' in packed
