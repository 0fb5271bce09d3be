"""Which agents can be chosen in a project on another machine: those that this machine has, and no others."""

import pytest

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.decide import Command
from fairlead.core.decide.agents import ConfigureAgent
from fairlead.core.decide.machines import AddMachine, MeetRunner
from fairlead.core.decide.messages import Submit
from fairlead.core.decide.projects import AddProject, FollowAgents, SwitchProject
from fairlead.core.decide.sessions import ChangeRuntime
from fairlead.core.limits import Limits
from fairlead.core.machines.offers import AgentOffer
from fairlead.errors import Code, FairleadError
from tests.core.harness import OWNER, CoreHarness, conversation_ref, directory, key_of

pytestmark = pytest.mark.req("H3")
HERE = ("claude", "mine", "echo")
ME = key_of().text


@pytest.fixture
def core() -> CoreHarness:
    """A project on gpu, which has claude and echo; `mine` was added where the daemon runs."""
    core = CoreHarness(limits=Limits(runtimes=HERE))
    core.do(ConfigureAgent(ConfiguredAgent(name="mine", command=("/opt/mine",))))
    core.do(AddMachine("gpu", OWNER))
    meet(core, "claude", "echo")
    core.do(AddProject(directory("gpu:/srv/trainer")))
    core.do(SwitchProject("gpu/trainer", key_of(), conversation_ref(), OWNER))
    return core


def meet(core: CoreHarness, *agents: str) -> None:
    """The runner says which agents it has, and the projects follow."""
    core.do(MeetRunner(machine="gpu", runner_id="r", epoch=1, agents=tuple(AgentOffer(name=name) for name in agents)))
    core.limits = Limits(runtimes=(*HERE, *(f"gpu/{name}" for name in agents)))
    core.do(FollowAgents())


def refusal(core: CoreHarness, command: Command) -> FairleadError:
    decision = core.do(command)
    assert decision.refusal is not None
    return decision.refusal


def test_an_agent_that_was_added_elsewhere_is_refused_with_the_command_to_type_there(core: CoreHarness):
    for name in ("mine", "gpu/mine"):
        refused = refusal(core, ChangeRuntime(ME, name))
        assert (refused.code, refused.message, refused.next_step) == (
            Code.E_TOOL_NOT_ENABLED,
            "The machine gpu has no agent mine: it has claude, echo.",
            "Run `fairlead runner agent add mine` on gpu, or choose an agent that it has.",
        )
    built_in = refusal(core, ChangeRuntime(ME, "codex"))
    assert built_in.next_step == "Install codex on gpu and start its runner again, or choose an agent that it has."


def test_an_agent_that_is_added_there_can_be_chosen_by_its_own_name_and_does_not_change_the_one_here(core: CoreHarness):
    meet(core, "claude", "mine", "echo")
    assert core.do(ChangeRuntime(ME, "mine")).refusal is None
    assert core.session().runtime == "gpu/mine"
    assert core.state.projects["api"].enabled_runtimes == HERE


def test_a_message_for_an_agent_that_was_removed_there_is_refused_and_makes_no_job(core: CoreHarness):
    meet(core, "claude", "mine", "echo")
    core.do(ChangeRuntime(ME, "mine"))
    meet(core, "claude", "echo")
    refused = refusal(core, Submit(core.inbound("hello")))
    assert refused.message == "The machine gpu has no agent mine: it has claude, echo."
    assert not core.state.jobs
    meet(core, "claude", "mine", "echo")
    again = core.say("hello again")
    assert core.start() == again
    assert core.job(again).runtime == "gpu/mine"
