"""Every runtime keeps the contract, with a replaying CLI behind it."""

from pathlib import Path

import pytest

from tests.runtimes.harness import CASTS, PER_TURN, ReplayStage
from tests.support.runtime_contract import InterruptContract, RuntimeContract


class TestReplayed(RuntimeContract):
    @pytest.fixture(params=CASTS)
    def stage(self, request: pytest.FixtureRequest, tmp_path: Path) -> ReplayStage:
        return ReplayStage(request.param, tmp_path)


class TestReplayedInterrupt(InterruptContract):
    @pytest.fixture(params=PER_TURN)
    def stage(self, request: pytest.FixtureRequest, tmp_path: Path) -> ReplayStage:
        return ReplayStage(request.param, tmp_path)
