"""PERMISSIONS.json: its tiers, its mistakes, and what each CLI makes of a tier."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.engine import Noticed, TurnFailed
from fairlead.errors import Code
from fairlead.runtimes.tool_policy import FULL, READONLY, STANDARD, ToolPolicy, read_tool_policy, tool_policy_from
from tests.runtimes.harness import ReplayStage
from tests.support.runtime_contract import closing, invocation, only, run

pytestmark = [pytest.mark.anyio, pytest.mark.req("E3")]


def test_without_a_file_runtime_tools_hold():
    assert tool_policy_from(None, ("Read", "Bash")) == ToolPolicy(("Read", "Bash"))


@pytest.mark.parametrize(("tier", "tools"), [("readonly", READONLY), ("standard", STANDARD), ("full", FULL)])
def test_a_tier_names_its_tools(tier: str, tools: tuple[str, ...]):
    content = json.dumps({"tier": tier, "note": "Be careful."}).encode()
    assert tool_policy_from(content, ()) == ToolPolicy(tools, tier, "Be careful.")


def test_the_custom_tier_names_its_own():
    content = b'{"tier": "custom", "tools": ["Read", "Edit", "Bash", "Read"]}'
    assert tool_policy_from(content, ()) == ToolPolicy(("Read", "Edit", "Bash"), "custom")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"tier": "root"}',
        b'{"tier": "full", "tols": []}',
        b'{"tier": "full", "tools": ["Read"]}',
        b'{"tier": "custom"}',
        b'{"tier": "custom", "tools": "Bash"}',
        b'{"tier": "custom", "tools": ["Read,Bash"]}',
        b'{"tier": "custom", "tools": ["--dangerously-skip-permissions"]}',
        b'{"tier": "full", "note": 7}',
        b"\xff\xfe",
    ],
)
def test_a_malformed_file_is_the_tightest_tier_and_a_warning(content: bytes):
    policy = tool_policy_from(content, FULL)
    assert policy.tools == READONLY
    assert policy.warning.startswith("PERMISSIONS.json cannot be used")


@given(content=st.binary(max_size=80))
def test_no_file_whatever_is_in_it_gives_more_than_it_says(content: bytes):
    policy = tool_policy_from(content, FULL)
    assert policy.tools == READONLY or b"tier" in content


def test_the_file_is_read_again_each_time(tmp_path: Path):
    assert read_tool_policy(tmp_path).tools == FULL
    (tmp_path / "PERMISSIONS.json").write_text('{"tier": "readonly"}')
    assert read_tool_policy(tmp_path).tools == READONLY
    (tmp_path / "PERMISSIONS.json").write_text(" " * 100_000)
    assert "larger" in read_tool_policy(tmp_path).warning
    (tmp_path / "PERMISSIONS.json").unlink()
    (tmp_path / "PERMISSIONS.json").mkdir()
    assert read_tool_policy(tmp_path).tools == READONLY


async def test_the_note_goes_into_the_prompt_and_the_tier_into_the_arguments(tmp_path: Path):
    stage = ReplayStage("claude per turn", tmp_path)
    turn = invocation(tmp_path, "hello")
    (tmp_path / "workspace" / "PERMISSIONS.json").write_text('{"tier": "standard", "note": "Touch nothing else."}')
    async with closing(stage.runtime("answers")) as runtime:
        await run(runtime, turn)

    [seen] = stage.runs()
    assert seen["argv"][seen["argv"].index("--tools") + 1] == ",".join(STANDARD)
    assert seen["argv"][-1] == "<workspace-note>\nTouch nothing else.\n</workspace-note>\n\nhello"


async def test_a_refused_tier_fails_the_turn_and_a_malformed_one_is_told_to_the_person(tmp_path: Path):
    stage = ReplayStage("codex", tmp_path)
    turn = invocation(tmp_path, "hello")
    permissions = tmp_path / "workspace" / "PERMISSIONS.json"
    async with closing(stage.runtime("answers")) as runtime:
        permissions.write_text('{"tier": "standard"}')
        refused = await run(runtime, turn)
        permissions.write_text("{")
        noted = await run(runtime, turn)

    assert isinstance(refused[0], TurnFailed)
    assert refused[0].code is Code.E_PERMISSION_TIER
    assert any("PERMISSIONS.json cannot be used" in note.text for note in only(Noticed, noted))
    assert stage.runs()[0]["argv"][3:5] == ["-s", "read-only"]


@pytest.mark.req("B11")
def test_a_named_pipe_in_its_place_is_the_tightest_tier_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "PERMISSIONS.json")
    policy = read_tool_policy(tmp_path)
    assert policy.tools == READONLY
    assert "not an ordinary file" in policy.warning
