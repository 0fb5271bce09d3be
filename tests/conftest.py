"""What every test shares: asynchronous tests run on asyncio, and no test's logging reaches the next."""

import faulthandler
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from fairlead.observe import log

# A test may not depend on how busy the machine is: not on how long an example takes, nor on how long making it takes.
hypothesis.settings.register_profile("fairlead", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("fairlead")


TESTS = Path(__file__).parent
LONG = (
    TESTS / "channels" / "discord",
    TESTS / "channels" / "stories",
    TESTS / "simulator",
    TESTS / "cli" / "test_agent.py",
    TESTS / "git" / "test_tree_undo.py",
    TESTS / "git" / "test_worktree_discarding.py",
    TESTS / "git" / "test_worktree_merging.py",
)
"""Whole daemons with their channels, simulated worlds, real installations, and git that is killed between any two
steps: `make test-long` runs them, and `make test` ends soon."""


MACHINES = (TESTS / "two_machines",)
"""Daemons and runners with a real NATS server: `make test-machines` runs them."""
WITH_SERVER = (*MACHINES, TESTS / "nats_wire")
HANGS_SEC = 300


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in LONG):
            item.add_marker(pytest.mark.long)
        if any(item.path.is_relative_to(folder) for folder in MACHINES):
            item.add_marker(pytest.mark.machines)


@pytest.fixture(autouse=True)
def _ends_in_time(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test with a real server that hangs shows where, and ends with its process: the run goes on without it."""
    has_server = any(request.path.is_relative_to(folder) for folder in WITH_SERVER)
    if not has_server:
        yield
        return
    faulthandler.dump_traceback_later(HANGS_SEC, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    yield
    log.write = None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A check that was not made is said where the result is read; a log of tests that passed is read by nobody."""
    if not Path(os.environ.get("FAIRLEAD_DISCORD_OPENAPI") or "/nowhere").is_file():
        terminalreporter.write_line(
            "FAIRLEAD_DISCORD_OPENAPI names no file: nothing was checked against Discord's OpenAPI document.",
            yellow=True,
        )
