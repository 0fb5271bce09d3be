"""What an agent cannot do is told with the agents that can: those of the project, else those of the machine."""

from collections.abc import AsyncIterator

import pytest

from fairlead.core.engine import EngineEvent, Invocation, TurnEnded
from fairlead.core.replies import Inability
from fairlead.flow.queries.abilities import inabilities
from tests.flow.harness import Agent

pytestmark = pytest.mark.req("B1", "E1")


async def play(_invocation: Invocation) -> AsyncIterator[EngineEvent]:
    yield TurnEnded("hi")


RUNTIMES = {
    "claude": Agent(play, permissions=True, steering=True, forks=True),
    "codex": Agent(play),
    "codex-acp": Agent(play, permissions=True, forks=True),
    "echo": Agent(play, permissions=True, steering=True, forks=True),
}


def test_the_agents_of_the_project_are_named_and_never_echo():
    assert inabilities("codex", RUNTIMES, ("codex", "codex-acp", "echo")) == (
        Inability("ask", ("codex-acp",)),
        Inability("steer", ("claude",)),
        Inability("fork", ("codex-acp",)),
    )


def test_an_agent_that_can_do_all_of_it_lacks_nothing():
    assert inabilities("claude", RUNTIMES, ()) == ()


def test_of_an_agent_that_is_not_there_nothing_is_said():
    assert inabilities("gone", RUNTIMES, ("claude",)) == ()
