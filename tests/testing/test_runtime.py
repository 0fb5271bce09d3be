"""The scripted runtime writes down what it was asked, and notices what should not have been."""

import asyncio

from fairlead.core.engine import Invocation, TurnEnded
from fairlead.ports import Runtime
from fairlead.testing.clock import run_virtually
from fairlead.testing.runtime import AgentLog, ScriptedRuntime


def invocation(job: int, session: str = "agent:fairlead:user:a") -> Invocation:
    return Invocation(
        job_id=f"job_{job}",
        session_key=session,
        generation=0,
        project_name="p",
        project_path="/p",
        workspace_path="/p",
        prompt="hi",
        mark="m",
    )


async def play(runtime: Runtime, asked: Invocation) -> list:
    return [event async for event in runtime.invoke(asked)]


def test_it_plays_the_script_and_writes_the_invocation_down():
    log = AgentLog()
    runtime = ScriptedRuntime(log, script=lambda asked, number: f"{asked.prompt} for the {number}. time")
    events = run_virtually(play(runtime, invocation(1)))
    assert events[-1] == TurnEnded("echo agent:fairlead:user:a: hi for the 1. time")
    assert [(i.job_id, i.prompt, i.ended) for i in log.invoked] == [("job_1", "hi", "success")]
    assert log.violations == []


def test_a_second_invocation_of_a_job_is_noticed_unless_the_first_failed_transiently():
    log = AgentLog()
    flaky = ScriptedRuntime(log, script=lambda _, number: "/transient")
    run_virtually(play(flaky, invocation(1)))
    run_virtually(play(flaky, invocation(1)))
    assert log.violations == []
    run_virtually(play(flaky, invocation(1)))
    assert log.violations == ["job_1 was invoked 3 times"]


def test_two_turns_at_once_in_a_session_and_too_many_in_all_are_noticed():
    log = AgentLog(slots=1)
    slow = ScriptedRuntime(log, script=lambda asked, number: "/slow 5")

    async def together() -> None:
        await asyncio.gather(play(slow, invocation(1)), play(slow, invocation(2)))

    run_virtually(together())
    assert log.violations == [
        "job_2 began while job_1 ran in agent:fairlead:user:a",
        "job_2 made 2 active turns, where 1 are allowed",
    ]
