"""Every tool has its arguments, and a description that tells an agent when to use it."""

import pytest

from fairlead.core.agent_tools import ARGUMENTS, NEEDED_TOOL, TOOL_NAMES
from fairlead.settings import ALL_TOOLS


def test_the_tools_are_those_that_agents_are_promised():
    assert set(TOOL_NAMES) >= {"send_message", "send_file", "ask_user", "set_title"}


@pytest.mark.parametrize("name", TOOL_NAMES)
def test_every_tool_says_what_it_is_for(name: str):
    assert len((ARGUMENTS[name].__doc__ or "").split()) > 5


def test_a_tier_decides_by_tools_that_tiers_know():
    assert set(NEEDED_TOOL) <= set(TOOL_NAMES)
    assert set(NEEDED_TOOL.values()) <= set(ALL_TOOLS)


def test_what_waits_for_nobody_tells_the_agent_to_end_its_turn():
    assert "END YOUR TURN" in (ARGUMENTS["ask_user"].__doc__ or "")
