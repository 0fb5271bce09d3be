"""The contract that every runtime keeps, with a scripted agent that speaks ACP."""

from pathlib import Path
from typing import Any

import pytest

from fairlead.core.engine import Invocation
from tests.runtimes.acp.harness import AcpStage
from tests.support.runtime_contract import InterruptContract, RuntimeContract

LIKE = ("", "claude", "codex", "gemini", "opencode", "qwen", "copilot", "hermes")


class TestScripted(RuntimeContract):
    @pytest.fixture
    def stage(self, tmp_path: Path) -> AcpStage:
        return AcpStage(tmp_path)


class TestScriptedInterrupt(InterruptContract):
    @pytest.fixture(params=LIKE)
    def stage(self, request: pytest.FixtureRequest, tmp_path: Path) -> AcpStage:
        return AcpStage(tmp_path, like=request.param)

    async def until_it_hangs(self, stage: Any, turn: Invocation) -> None:
        del turn
        await stage.until_noted("request", "session/prompt")
