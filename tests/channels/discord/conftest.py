"""One daemon and one loopback Discord per module where the tests do not disturb each other."""

from collections.abc import AsyncIterator

import pytest

from tests.channels.discord.harness import Daemon, Stage, a_stage


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def shared_stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with a_stage(tmp_path_factory.mktemp("daemon")) as ready:
        yield ready


@pytest.fixture
async def stage(shared_stage: Stage) -> AsyncIterator[Stage]:
    """A shared daemon may have ended since the test before this one. That is said here, with its last words, and it is
    started again, so that one fault fails one test and a second run of it can pass."""
    await _fail_if_it_ended(shared_stage.daemon)
    yield shared_stage
    await _fail_if_it_ended(shared_stage.daemon)


async def _fail_if_it_ended(daemon: Daemon) -> None:
    if daemon.has_ended_by_itself:
        last_words = daemon.describe()
        await daemon.up()
        pytest.fail(f"The daemon ended by itself: {last_words}")
