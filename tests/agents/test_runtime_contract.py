"""Every runtime keeps the contract with its real CLI."""

from pathlib import Path

import pytest

from fairlead.core.engine import Invocation
from tests.support.runtime_contract import InterruptContract, RuntimeContract

from .model_server import ModelServer
from .real_stage import CASTS, RealStage

pytestmark = [pytest.mark.agents, pytest.mark.anyio]


class TestReal(RuntimeContract):
    @pytest.fixture(params=CASTS)
    def stage(self, request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> RealStage:
        return RealStage(request.param, tmp_path, server)


class TestRealInterrupt(InterruptContract):
    @pytest.fixture(params=CASTS)
    def stage(self, request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> RealStage:
        return RealStage(request.param, tmp_path, server)

    async def until_it_hangs(self, stage: RealStage, turn: Invocation) -> None:
        await stage.server.until_held()
