"""A state that an earlier version wrote, and whose daemon was killed, is opened, verified and taken up by this one.

`earlier_version/` is that state: jobs of every end, a job that ran, one that waited for a permission, one that was
queued, an answer nobody fetched. The long texts of three jobs are not kept with it.
"""

import shutil
from pathlib import Path

import pytest

from fairlead.app import run_daemon
from fairlead.core.state import as_data
from fairlead.kit.files import REAL_DISK
from fairlead.store.journal import SNAPSHOT_NAME, open_state
from fairlead.store.verification import verify
from tests.support.settings import make_settings

pytestmark = [pytest.mark.anyio, pytest.mark.req("A7", "A15")]

EARLIER = Path(__file__).parent / "earlier_version"


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EARLIER, tmp_path / "state"))


def test_it_verifies(state_dir: Path):
    told = verify(state_dir, REAL_DISK)
    assert told.ok, told.lines
    assert any(SNAPSHOT_NAME in line and "another version" in line for line in told.lines)


def test_its_snapshot_is_set_aside_and_the_journal_alone_gives_the_state(state_dir: Path):
    """Its rules of retention were others: days were dates."""
    opened = open_state(state_dir, REAL_DISK)
    assert "another version" in opened.reports[0]
    assert not (state_dir / SNAPSHOT_NAME).exists()
    assert as_data(open_state(state_dir, REAL_DISK).state) == as_data(opened.state)


async def test_a_daemon_starts_on_it_and_knows_what_became_of_every_job(state_dir: Path, tmp_path: Path):
    before = open_state(state_dir, REAL_DISK).state
    interrupted = {*before.running, *before.waiting}
    settings = make_settings(STATE_DIR=state_dir, LOG_DIR=tmp_path / "logs", FAIRLEAD_HTTP=False)
    async with run_daemon(settings) as daemon:
        state = daemon.flow.ledger.state
        assert len(interrupted) == 3
        assert {state.jobs[job_id].state for job_id in interrupted} == {"unknown_after_crash"}
        for job_id in before.jobs:
            assert (await daemon.flow.view.job(job_id)).job_id == job_id
        first = await daemon.flow.view.job("job_20261116_0001")
        assert (first.prompt, first.answer) == ("hello", "echo agent:fairlead:user:ada: hello")
    told = verify(state_dir, REAL_DISK)
    assert told.ok, told.lines


async def test_its_projects_that_only_had_echo_get_an_agent_that_is_installed_by_now(
    state_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    settings = make_settings(STATE_DIR=state_dir, LOG_DIR=tmp_path / "logs", FAIRLEAD_HTTP=False)
    async with run_daemon(settings) as daemon:
        assert "claude is installed now: project api uses it instead of echo." in daemon.notes
        projects = daemon.flow.ledger.state.listed_projects()
        assert {(p.name, p.default_runtime, p.enabled_runtimes) for p in projects} == {
            (name, "claude", ("claude", "echo")) for name in ("api", "web", "docs")
        }
    assert verify(state_dir, REAL_DISK).ok
