"""`fairlead doctor` and a start check all agents at the same time: none may end another."""

import asyncio
import os
from pathlib import Path

import pytest

from fairlead.observe import JobLogDirectory, Redactor
from fairlead.ports import RuntimeHealth
from fairlead.runtimes.acp.known_agents import AcpAgent
from fairlead.runtimes.acp.runtime import AcpRuntime, AcpSettings
from fairlead.runtimes.checks import KnownGood
from tests.runtimes.acp.harness import AcpStage, Talk
from tests.support.runtime_contract import closing
from tests.support.scripted_acp.shim import write_shim

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4")]


def runtime_of(program: Path, good: KnownGood | None = None) -> AcpRuntime:
    agent = AcpAgent(name=program.name, command=(str(program),), good=good)
    logs = JobLogDirectory(program.parent / "logs", Redactor([]))
    return AcpRuntime(agent, settings=AcpSettings(), environment=os.environ, job_logs=logs.open)


async def test_the_end_of_one_check_leaves_the_process_of_another_alone(tmp_path: Path):
    quick = write_shim(tmp_path, "quick", bare=True)
    late = tmp_path / "late"
    os.mkfifo(tmp_path / "began")
    os.mkfifo(tmp_path / "goes-on")
    late.write_text(f"#!/bin/sh\necho > {tmp_path}/began\nread line < {tmp_path}/goes-on\nexec {quick}\n")
    late.chmod(0o755)
    pipe = os.open(tmp_path / "goes-on", os.O_RDWR)
    try:
        checking = asyncio.create_task(runtime_of(late).check())
        await asyncio.to_thread((tmp_path / "began").read_text)
        assert await runtime_of(quick).check() == RuntimeHealth(ok=True, program=str(quick), version="1.2.3")
        os.write(pipe, b"now\n")
        assert await checking == RuntimeHealth(ok=True, program=str(late), version="1.2.3")
    finally:
        os.close(pipe)


async def test_a_version_that_was_never_tried_is_told(tmp_path: Path):
    program = write_shim(tmp_path, "agent", bare=True, version="1.2.3")
    assert (await runtime_of(program, KnownGood((1, 0, 0), (1, 2, 3))).check()).notes == ()
    older = await runtime_of(program, KnownGood((1, 3, 0), (1, 9, 0))).check()
    assert older.notes == ("1.2.3 is older than 1.3.0, the oldest tested version. Update it.",)
    newer = await runtime_of(program, KnownGood((0, 9, 0), (1, 2, 2))).check()
    assert newer.notes == ("1.2.3 is newer than 1.2.2, the newest tested version.",)
    assert older.ok
    assert newer.ok


async def test_what_is_set_for_a_check_is_set_for_no_turn_and_the_persons_own_variable_wins(tmp_path: Path):
    """A check that nobody has asked for sends no statistics; what an agent does in a turn is the person's choice."""
    stage = AcpStage(tmp_path)
    agent = AcpAgent(
        name="agent",
        command=(str(stage.command),),
        own_prefixes=("AGENT_",),
        environment={"AGENT_SET": "always"},
        check_environment={"AGENT_QUIET": "1", "AGENT_MINE": "not mine"},
    )
    own = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "AGENT_MINE": "mine"}
    async with closing(AcpRuntime(agent, settings=AcpSettings(), environment=own, job_logs=stage.logs)) as runtime:
        assert isinstance(runtime, AcpRuntime)
        assert (await runtime.check()).ok
        assert await Talk(stage, runtime).answer("say: here") == "here"
    seen = [{k: v for k, v in start["environment"].items() if k.startswith("AGENT_")} for start in stage.noted("start")]
    always = {"AGENT_SET": "always", "AGENT_MINE": "mine"}
    assert seen == [{**always, "AGENT_QUIET": "1"}, always]
