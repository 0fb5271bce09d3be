"""One daemon and one loopback Discord per module where the tests do not disturb each other."""

from collections.abc import AsyncIterator

import pytest

from tests.channels.discord.harness import Stage, a_stage


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with a_stage(tmp_path_factory.mktemp("daemon")) as ready:
        yield ready
