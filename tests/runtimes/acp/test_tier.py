"""A project's tier holds for an agent that asks, and an agent that cannot be held to it does not run there."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.engine import Noticed, PermissionRequested, SetMode, TurnEnded
from fairlead.errors import Code, FairleadError
from fairlead.runtimes.acp.quirks import PLAIN, Quirks
from fairlead.runtimes.acp.tier import Tier
from fairlead.runtimes.tool_policy import FULL, READONLY, STANDARD, ToolPolicy
from tests.runtimes.acp.harness import AcpStage, Talk, deny, until
from tests.support.runtime_contract import closing, only

pytestmark = pytest.mark.req("B4", "E8")

READONLY_TIER = Tier(ToolPolicy(READONLY, "readonly"))
STANDARD_TIER = Tier(ToolPolicy(STANDARD, "standard"))


def permit(stage: AcpStage, tier: str, **more: Any) -> None:
    workspace = stage.root / "workspace"
    workspace.mkdir(exist_ok=True)
    (workspace / "PERMISSIONS.json").write_text(json.dumps({"tier": tier, **more}))


@pytest.mark.parametrize(
    ("tool", "readonly", "standard"),
    [
        ("Read", True, True),
        ("Grep", True, True),
        ("WebFetch", True, True),
        ("Edit", False, True),
        ("MultiEdit", False, True),
        ("Write", False, True),
        ("Bash", False, False),
        ("Delete", False, False),
        ("Move", False, False),
        ("other", False, False),
        ("mcp__server__tool", False, False),
        ("", False, False),
    ],
)
def test_what_a_tier_allows(tool: str, *, readonly: bool, standard: bool):
    assert [not tier.forbids(tool) for tier in (READONLY_TIER, STANDARD_TIER)] == [readonly, standard]
    assert not Tier(ToolPolicy(FULL, "full")).forbids(tool)


def test_a_refusal_says_which_tool_and_which_tier():
    assert READONLY_TIER.forbids("Bash") == "Bash was refused: the tier readonly does not allow it here."
    assert Tier(ToolPolicy(("Read",))).forbids("Bash") == "Bash was refused: RUNTIME_TOOLS does not allow it here."


def test_a_tier_needs_a_mode_in_which_the_agent_is_known_to_ask():
    assert READONLY_TIER.strict_mode("agent", Quirks(strict_mode="careful")) == "careful"
    with pytest.raises(FairleadError, match="It is unknown whether agent asks before every change") as refusal:
        READONLY_TIER.strict_mode("agent", PLAIN)
    assert refusal.value.code is Code.E_PERMISSION_TIER


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("like", "mode"),
    [("claude", "default"), ("codex", "read-only"), ("gemini", "default"), ("qwen", "default"), ("copilot", "agent")],
)
async def test_a_tier_is_held_in_the_agents_strict_mode_without_asking_anybody(tmp_path: Path, like: str, mode: str):
    stage = AcpStage(tmp_path, like=like, rejected="goes on")
    permit(stage, "readonly")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        assert (await talk.answer("which mode?")).endswith(mode)
        events = await talk.say("ask: execute rm -rf build\nask: read a.txt", deny)
        assert [ask.tool for ask in only(PermissionRequested, events)] == ["Read"]
        assert "Bash was refused: the tier readonly does not allow it here." in {
            notice.text for notice in only(Noticed, events)
        }
        assert isinstance(events[-1], TurnEnded)


@pytest.mark.anyio
async def test_an_agent_that_nobody_has_tried_is_refused_in_a_tier_and_not_loosened(tmp_path: Path):
    stage = AcpStage(tmp_path)
    permit(stage, "readonly")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        failure = await talk.failure("hello")
        assert failure.code is Code.E_PERMISSION_TIER
        permit(stage, "full")
        assert await talk.answer("hello") == "You said: hello"
    assert [note["params"]["prompt"][0]["text"] for note in stage.noted("request", "session/prompt")] == ["hello"]


@pytest.mark.anyio
async def test_an_agent_whose_strict_mode_is_gone_is_refused(tmp_path: Path):
    """As a later version of the agent may have it: nobody knows whether it still asks."""
    stage = AcpStage(tmp_path, like="claude", modes="auto,plan")
    permit(stage, "readonly")
    async with closing(stage.runtime()) as runtime:
        failure = await Talk(stage, runtime).failure("hello")
    assert failure.code is Code.E_PERMISSION_TIER
    assert "has no mode 'default'" in failure.message
    assert not stage.noted("request", "session/prompt")


@pytest.mark.anyio
async def test_a_person_cannot_choose_another_mode_where_a_tier_holds(tmp_path: Path):
    stage = AcpStage(tmp_path, like="claude")
    permit(stage, "standard")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("hello")
        with pytest.raises(FairleadError) as refusal:
            await runtime.instruct("s", SetMode("auto", str(tmp_path / "workspace")))
        assert refusal.value.code is Code.E_MODE_UNAVAILABLE
        assert await talk.answer("which mode?") == "mode=default"


@pytest.mark.anyio
async def test_a_mode_that_was_chosen_before_the_tier_does_not_outlive_it(tmp_path: Path):
    stage = AcpStage(tmp_path, like="claude")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        await talk.answer("hello")
        await runtime.instruct("s", SetMode("acceptEdits", str(tmp_path / "workspace")))
        assert await talk.answer("which mode?") == "mode=acceptEdits"
        permit(stage, "readonly")
        assert await talk.answer("which mode?") == "mode=default"


@pytest.mark.anyio
@pytest.mark.parametrize("rest", ["say: and I go on\nhang", "say: and I am done"])
async def test_an_agent_that_leaves_its_strict_mode_is_ended_and_comes_back_in_it(tmp_path: Path, rest: str):
    """A command of the agent's own may change its mode, and so may the agent."""
    stage = AcpStage(tmp_path, like="claude")
    permit(stage, "readonly")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        assert await talk.answer("my name is Bob\nmode: plan\nmode: default") == "You said: my name is Bob"
        failure = await talk.failure(f"say: before\nmode: acceptEdits\n{rest}")
        assert failure.code is Code.E_PERMISSION_TIER
        assert "changed to the mode 'acceptEdits'" in failure.message
        assert failure.text.startswith("before")
        assert (talk.state, talk.processes()) == ("Closed", [])
        assert await talk.answer("which mode?") == "mode=default"
        permit(stage, "full")
        assert await talk.answer("mode: acceptEdits\nwhich mode?") == "mode=acceptEdits"


@pytest.mark.anyio
async def test_an_agent_that_leaves_its_strict_mode_between_two_turns_is_ended(tmp_path: Path):
    stage = AcpStage(tmp_path, like="gemini")
    permit(stage, "readonly")
    fifo = stage.fifo("later")
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        assert await talk.answer(f"say: done\nunasked: {fifo} [MODE_UPDATE] yolo") == "done"
        assert talk.state == "Active"
        await fifo.open()
        await until(lambda: talk.state == "Closed")
        await talk.until_gone()
