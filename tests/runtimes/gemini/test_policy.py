"""The policy file that holds gemini to the tools of a tier."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.runtimes.gemini.policy import policy_for
from fairlead.runtimes.tool_policy import FULL, ToolPolicy

pytestmark = [pytest.mark.anyio, pytest.mark.req("E3")]


@given(tools=st.lists(st.sampled_from(FULL), unique=True))
def test_gemini_is_denied_everything_but_the_tools_of_the_tier(tools: list[str]):
    deny, allow = tomllib.loads(policy_for(ToolPolicy(tuple(tools))))["rule"]
    assert (deny["toolName"], deny["decision"]) == ("*", "deny")
    assert allow["priority"] > deny["priority"]
    assert ("run_shell_command" in allow["toolName"]) == ("Bash" in tools)
    assert ("write_file" in allow["toolName"]) == ("Write" in tools)
    assert ("replace" in allow["toolName"]) == ("Edit" in tools)


def test_a_shell_that_is_allowed_may_redirect_its_output():
    """Without the two names of the option gemini asks a person about every `>`, and nobody sits there."""
    _, allow = tomllib.loads(policy_for(ToolPolicy(("Bash", "Read"))))["rule"]
    assert (allow["allowRedirection"], allow["allow_redirection"]) == (True, True)
