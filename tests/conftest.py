"""What every test shares: asynchronous tests run on asyncio, and no test's logging reaches the next."""

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import structlog

# A test may not depend on how busy the machine is.
hypothesis.settings.register_profile("fairlead", deadline=None)
hypothesis.settings.load_profile("fairlead")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A check that was not made is said where the result is read; a log of tests that passed is read by nobody."""
    if not Path(os.environ.get("FAIRLEAD_DISCORD_OPENAPI") or "/nowhere").is_file():
        terminalreporter.write_line(
            "FAIRLEAD_DISCORD_OPENAPI names no file: nothing was checked against Discord's OpenAPI document.",
            yellow=True,
        )
