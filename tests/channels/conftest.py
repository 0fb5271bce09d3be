"""Async tests of the channels run on asyncio alone: that is what the daemon runs on."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
