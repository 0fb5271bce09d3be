"""The command line of an installed agent."""

import pytest

from fairlead.errors import Code, FairleadError
from fairlead.runtimes.install.commands import choose_program, program_of, with_variables
from fairlead.runtimes.install.offers import Package

pytestmark = pytest.mark.req("B4")

KNOWN = Package(kind="npm", name="@a/agent", commands=(("agent-acp",), ("agent", "--acp")))
LISTED = Package(kind="npm", name="@a/agent", args=("--acp", "--quiet"))
PYTHON = Package(kind="pypi", name="hermes-agent[acp]", args=("acp",))


@pytest.mark.parametrize(
    ("package", "programs", "command"),
    [
        (KNOWN, ("agent", "agent-acp"), ("agent-acp",)),
        (KNOWN, ("agent",), ("agent", "--acp")),
        (LISTED, ("other", "agent"), ("agent", "--acp", "--quiet")),
        (LISTED, ("other",), ("other", "--acp", "--quiet")),
        (PYTHON, ("hermes", "hermes-agent"), ("hermes-agent", "acp")),
    ],
)
def test_the_program_is_the_known_one_or_the_one_that_npx_would_run(package, programs, command):
    assert choose_program(package, programs) == command


@pytest.mark.parametrize(("package", "programs"), [(KNOWN, ("x",)), (LISTED, ("x", "y")), (LISTED, ())])
def test_a_package_without_such_a_program_is_refused(package, programs):
    with pytest.raises(FairleadError) as refused:
        choose_program(package, programs)
    assert refused.value.code is Code.E_AGENT_INSTALL


def test_variables_that_a_registry_sets_are_part_of_the_command():
    command = with_variables(("/agents/a/x", "acp"), {"A": "1", "B": "two words"})
    assert command == ("/usr/bin/env", "A=1", "B=two words", "/agents/a/x", "acp")
    assert program_of(command) == "/agents/a/x"
    assert with_variables(("/x",), {}) == ("/x",)
    assert program_of(("/x", "y")) == "/x"
