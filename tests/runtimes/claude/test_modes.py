"""Claude's permission modes: chosen from chat, held to the project's tier, kept while processes come and go."""

import json
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.engine import Noticed, PlanProposed, Response, SetMode, TurnEnded
from fairlead.errors import Code, FairleadError
from fairlead.ports import Runtime
from fairlead.runtimes.claude.modes import Modes
from fairlead.runtimes.claude.protocol import ClaudeProtocol
from fairlead.runtimes.tool_policy import FULL, READONLY, STANDARD, ToolPolicy
from tests.runtimes.harness import ReplayStage
from tests.support.replaying_cli import write_shim
from tests.support.runtime_contract import closing, invocation, key_in, only, run

pytestmark = [pytest.mark.anyio, pytest.mark.req("E3", "E7")]

TWO_TURNS = "claude/04a-two-turns-one-process"


@pytest.fixture
def stage(tmp_path: Path) -> ReplayStage:
    return ReplayStage("claude in a pool", tmp_path)


def turn_for(stage: ReplayStage, **changes: Any) -> Any:
    return invocation(stage.root, "hello", session_key="s", mark=f"{stage.root.name}-{os.getpid()}:s", **changes)


def permit(stage: ReplayStage, tier: str) -> str:
    workspace = stage.root / "workspace"
    workspace.mkdir(exist_ok=True)
    (workspace / "PERMISSIONS.json").write_text(json.dumps({"tier": tier}))
    return str(workspace)


def overheard(stage: ReplayStage, **settings: Any) -> tuple[Runtime, Path]:
    """A claude whose input is written down."""
    shim, heard = write_shim(stage.root / "bin", "claude", TWO_TURNS, notes=stage.notes), stage.root / "heard"
    outer = stage.root / "claude"
    outer.write_text(f'#!/bin/sh\ntee {heard} | {shim} "$@"\n')
    outer.chmod(0o755)
    return stage.runtime_with(str(outer), **settings), heard


def modes_asked_for(heard: Path) -> list[str]:
    said = [json.loads(line) for line in heard.read_text().splitlines()]
    requests = [line["request"] for line in said if line["type"] == "control_request"]
    return [request["mode"] for request in requests if request["subtype"] == "set_permission_mode"]


async def test_a_mode_reaches_the_process_that_runs_at_once(stage: ReplayStage):
    runtime, heard = overheard(stage)
    async with closing(runtime):
        first = await run(runtime, turn_for(stage))
        await runtime.instruct("s", SetMode("plan", permit(stage, "full")))
        assert runtime.describe("s").mode == "plan"
        await run(runtime, turn_for(stage, resume_key=key_in(first), job_id="job_2"))

    assert modes_asked_for(heard) == ["plan"]


async def test_a_mode_outlives_the_process_and_can_be_chosen_before_there_is_one(stage: ReplayStage):
    async with closing(stage.runtime_of(TWO_TURNS)) as runtime:
        await runtime.instruct("s", SetMode("plan", permit(stage, "full")))
        first = await run(runtime, turn_for(stage))
        await runtime.end_session("s", "stop")
        assert runtime.describe("s").mode == "plan"
        await run(runtime, turn_for(stage, resume_key=key_in(first), job_id="job_2"))

    given = [" ".join(run_["argv"]) for run_ in stage.runs()]
    assert [argv.count("--permission-mode plan") for argv in given] == [1, 1]


async def test_a_mode_that_would_loosen_the_tier_is_refused_and_not_applied(stage: ReplayStage):
    runtime, heard = overheard(stage)
    async with closing(runtime):
        workspace = permit(stage, "readonly")
        first = await run(runtime, turn_for(stage))
        with pytest.raises(FairleadError, match="The tier readonly allows no edits") as refusal:
            await runtime.instruct("s", SetMode("acceptEdits", workspace))
        await run(runtime, turn_for(stage, resume_key=key_in(first), job_id="job_2"))
        assert runtime.describe("s").mode == ""

    assert refusal.value.code is Code.E_MODE_UNAVAILABLE
    assert modes_asked_for(heard) == []


async def test_a_tier_that_is_tightened_later_ends_the_mode_and_the_person_hears_of_it(stage: ReplayStage):
    async with closing(stage.runtime_of(TWO_TURNS)) as runtime:
        await runtime.instruct("s", SetMode("acceptEdits", permit(stage, "standard")))
        permit(stage, "readonly")
        events = await run(runtime, turn_for(stage))
        assert isinstance(events[-1], TurnEnded)
        assert runtime.describe("s").mode == ""

    assert "The mode acceptEdits is no longer active" in only(Noticed, events)[0].text
    assert "--permission-mode" not in stage.runs()[0]["argv"]


async def test_a_process_for_each_turn_offers_no_modes(tmp_path: Path):
    async with closing(ReplayStage("claude per turn", tmp_path).runtime("answers")) as runtime:
        assert not runtime.capabilities.modes
        assert runtime.describe("s").modes == ()


@pytest.mark.parametrize(
    ("mode", "tools", "may_bypass", "is_allowed"),
    [
        ("default", READONLY, False, True),
        ("plan", READONLY, False, True),
        ("acceptEdits", READONLY, False, False),
        ("acceptEdits", ("Bash", "Read"), False, False),
        ("acceptEdits", STANDARD, False, True),
        ("acceptEdits", FULL, False, True),
        ("bypassPermissions", FULL, False, False),
        ("bypassPermissions", FULL, True, True),
        ("--dangerously-skip-permissions", FULL, True, False),
        ("", FULL, True, False),
    ],
)
def test_what_a_tier_leaves_room_for(mode: str, tools: tuple[str, ...], may_bypass: bool, is_allowed: bool):
    modes = Modes(may_bypass=may_bypass)
    with nullcontext() if is_allowed else pytest.raises(FairleadError):
        modes.choose("s", mode, ToolPolicy(tools, "custom"))
    assert modes.get("s") == (mode if is_allowed else "")


def test_an_approved_plan_ends_the_plan_mode_and_no_other():
    modes = Modes(may_bypass=False)
    for session, mode in (("a", "plan"), ("b", "acceptEdits")):
        modes.choose(session, mode, ToolPolicy(FULL))
        modes.leave_plan(session)
    assert (modes.get("a"), modes.get("b")) == ("", "acceptEdits")


def test_only_a_yes_to_an_open_plan_approves_it():
    protocol = ClaudeProtocol("key")
    use = {"subtype": "can_use_tool", "tool_name": "ExitPlanMode", "input": {"plan": "first this"}, "tool_use_id": "t"}
    received = protocol.receive(json.dumps({"type": "control_request", "request_id": "r", "request": use}).encode())
    assert only(PlanProposed, [*received.job, *received.agent_turn])
    assert protocol.approves_plan(Response(request_id="r", verdict="allow"))
    assert not protocol.approves_plan(Response(request_id="r", verdict="deny"))
    assert not protocol.approves_plan(Response(request_id="other", verdict="allow"))
