"""The arguments and the sandbox that codex is started with."""

from pathlib import Path

import pytest

from fairlead.core.engine import InputFile
from fairlead.errors import Code, FairleadError
from fairlead.runtimes.codex.runtime import sandbox_for
from fairlead.runtimes.tool_policy import FULL, READONLY, STANDARD, ToolPolicy
from tests.runtimes.harness import ReplayStage
from tests.support.runtime_contract import closing, invocation, run

pytestmark = pytest.mark.anyio


@pytest.mark.req("E8")
async def test_codex_gets_pictures_with_a_flag_that_cannot_eat_the_prompt(tmp_path: Path):
    stage = ReplayStage("codex", tmp_path)
    turn = invocation(tmp_path, "look", files=(InputFile("/a/p.png", "p.png"),))
    async with closing(stage.runtime("answers")) as runtime:
        await run(runtime, turn)
    assert stage.runs()[0]["argv"][-4:] == ["-i", "/a/p.png", "--", "-"]


@pytest.mark.req("E3")
@pytest.mark.parametrize(
    ("tools", "sandbox"),
    [
        (READONLY, "read-only"),
        (("Grep",), "read-only"),
        (FULL, "workspace-write"),
        (("Read", "Bash"), "workspace-write"),
    ],
)
def test_codex_is_held_by_its_sandbox(tools: tuple[str, ...], sandbox: str):
    assert sandbox_for(ToolPolicy(tools)) == sandbox


@pytest.mark.req("E3")
@pytest.mark.parametrize("tools", [STANDARD, ("Write",), (), ("WebSearch",)])
def test_what_codex_cannot_be_held_to_is_refused_not_loosened(tools: tuple[str, ...]):
    with pytest.raises(FairleadError) as refusal:
        sandbox_for(ToolPolicy(tools))
    assert refusal.value.code is Code.E_PERMISSION_TIER
