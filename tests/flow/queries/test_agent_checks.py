"""The self-checks of agents: remembered, and one that raises is a finding among the others."""

import pytest

from fairlead.core import requests as ask
from fairlead.core.replies import AgentCheckRow, AgentsChecked
from fairlead.flow.queries.agent_checks import AgentChecks
from fairlead.ports import RuntimeHealth
from fairlead.runtimes.echo import EchoRuntime

pytestmark = [pytest.mark.anyio, pytest.mark.req("G9")]


class Broken(EchoRuntime):
    async def check(self) -> RuntimeHealth:
        raise RuntimeError("no such program")


async def test_a_check_that_raises_is_a_finding_and_the_others_go_on():
    broken, echo = Broken(), EchoRuntime()
    checks = AgentChecks({"broken": broken, "echo": echo}, lambda: "2026-03-01T08:00:00.000Z")
    assert checks.last == AgentsChecked("", ())
    found = await checks.check_all()
    assert found.agents[0] == AgentCheckRow(
        name="echo", ok=False, notes=("The check itself failed: RuntimeError: no such program.",)
    )
    assert found.agents[1].ok
    assert checks.last == found
    await broken.aclose()
    await echo.aclose()


def test_only_the_owner_may_have_programs_started():
    from fairlead.core.commands import COMMANDS

    (spec,) = [spec for spec in COMMANDS.specs if spec.request is ask.AgentCheck]
    assert spec.who == "the owner"
