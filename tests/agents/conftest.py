"""A model server and the three real CLIs, each test with its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairlead.runtimes.gemini_defaults import check_quietly

from .drive import Cli
from .model_server import ModelServer


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server
        assert [host for host in server.strays if not _cannot_be_kept_from(host)] == [], "a CLI tried to leave loopback"


def _cannot_be_kept_from(host: str) -> bool:
    """Gemini's statistics, where Gemini does not take the defaults of a self-check from this installation."""
    return host.startswith("play.googleapis.com") and not check_quietly()


@pytest.fixture
def claude(tmp_path: Path, server: ModelServer) -> Cli:
    return Cli("claude", tmp_path, server)


@pytest.fixture
def codex(tmp_path: Path, server: ModelServer) -> Cli:
    return Cli("codex", tmp_path, server)


@pytest.fixture
def gemini(tmp_path: Path, server: ModelServer) -> Cli:
    return Cli("gemini", tmp_path, server)


@pytest.fixture(params=["claude", "codex", "gemini"])
def cli(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> Cli:
    return Cli(request.param, tmp_path, server)
