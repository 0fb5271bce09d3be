"""Which agents a person can configure, and what a mistake says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.agents import BUILT_IN_AGENTS, ConfiguredAgent, find_mistake
from fairlead.errors import Code

OWN = ("DISCORD_", "FAIRLEAD_")


def agent(name: str = "goose", **more) -> ConfiguredAgent:
    return ConfiguredAgent(name=name, **({"command": ("goose", "acp")} | more))


def test_a_name_a_command_and_names_of_variables_make_an_agent():
    assert find_mistake(agent(env=("GOOSE_PROVIDER", "_X", "http_proxy")), OWN) is None
    assert find_mistake(agent(command=("/opt/my agent/run", "", "--flag=a b")), OWN) is None


@pytest.mark.parametrize("name", ["", "Goose", "my agent", "a" * 41, "-x", "gänse", "goose\n", "../goose"])
def test_a_name_outside_the_pattern_is_refused(name: str):
    found = find_mistake(agent(name), OWN)
    assert found is not None
    assert (found.code, found.token) == (Code.E_INVALID_NAME, name)


@pytest.mark.parametrize("name", BUILT_IN_AGENTS)
def test_a_built_in_agent_keeps_its_name(name: str):
    found = find_mistake(agent(name), OWN)
    assert found is not None
    assert found.code is Code.E_INVALID_NAME
    assert "is built in" in found.sentence


@pytest.mark.parametrize("command", [(), ("",), ("  ", "acp"), ("goose", "a\0b")])
def test_a_command_that_cannot_be_run_is_refused(command: tuple[str, ...]):
    found = find_mistake(agent(command=command), OWN)
    assert found is not None
    assert found.code is Code.E_INVALID_ARGS


@pytest.mark.req("B14")
def test_a_value_is_refused_and_not_repeated():
    found = find_mistake(agent(env=("GOOSE_PROVIDER", "OPENAI_API_KEY=sk-secret")), OWN)
    assert found is not None
    assert found.token == "OPENAI_API_KEY=sk-secret"
    assert "write 'OPENAI_API_KEY', and set its value in the environment" in found.sentence
    assert "sk-secret" not in found.sentence


@pytest.mark.req("B14")
@pytest.mark.parametrize("name", ["DISCORD_TOKEN", "FAIRLEAD_HTTP_PORT"])
def test_fairleads_own_variables_are_refused(name: str):
    found = find_mistake(agent(env=(name,)), OWN)
    assert found is not None
    assert "Fairlead's own variables are never passed to an agent" in found.sentence


@given(st.text(max_size=20))
def test_a_variable_is_taken_only_if_a_shell_would_take_its_name(name: str):
    is_name = name.isascii() and name.isidentifier() and not name.startswith(OWN)
    assert (find_mistake(agent(env=(name,)), OWN) is None) == is_name
