"""The contract that every runtime keeps, with the six real agents that speak ACP."""

from pathlib import Path

import pytest

from fairlead.core.engine import Invocation
from tests.support.runtime_contract import InterruptContract, RuntimeContract, Stage

from .acp_program import ACP_NAMES
from .acp_stage import RealAcpStage
from .model_server import ModelServer

pytestmark = [pytest.mark.agents, pytest.mark.anyio, pytest.mark.req("B4")]


class TestRealAcp(RuntimeContract):
    @pytest.fixture(params=ACP_NAMES)
    def stage(self, request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> RealAcpStage:
        return RealAcpStage(request.param, tmp_path, server)

    async def test_a_rate_limit_is_a_failure_that_may_pass(self, stage: Stage):
        if isinstance(stage, RealAcpStage) and stage.name == "qwen":
            pytest.skip("qwen 0.24.4 asks its model again for two minutes, and no setting shortens that")
        await super().test_a_rate_limit_is_a_failure_that_may_pass(stage)


class TestRealAcpInterrupt(InterruptContract):
    @pytest.fixture(params=ACP_NAMES)
    def stage(self, request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> RealAcpStage:
        return RealAcpStage(request.param, tmp_path, server)

    async def until_it_hangs(self, stage: RealAcpStage, turn: Invocation) -> None:
        del turn
        await stage.server.until_held()
