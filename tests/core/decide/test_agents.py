"""Configured agents: added, changed and removed by facts; which projects allow a new one; who keeps one from going."""

import pytest

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.decide.agents import ConfigureAgent, RemoveAgent
from fairlead.core.decide.projects import CreateProject
from fairlead.core.decide.sessions import ChangeRuntime
from fairlead.core.events import AgentConfigured, AgentRemoved, ProjectUpdated
from fairlead.core.limits import Limits
from fairlead.errors import Code
from tests.core.harness import CoreHarness, directory, folded, key_of


def agent(name: str = "goose", **more) -> ConfiguredAgent:
    return ConfiguredAgent(name=name, **({"command": ("goose", "acp")} | more))


def facts(core: CoreHarness) -> list[object]:
    return [e.payload for e in core.journal if isinstance(e.payload, AgentConfigured | AgentRemoved)]


def test_an_agent_is_added_changed_and_removed_by_facts(core: CoreHarness):
    core.do(ConfigureAgent(agent(env=("GOOSE_PROVIDER",))))
    core.do(ConfigureAgent(agent(command=("/opt/goose", "acp"))))
    assert core.state.agents == {"goose": agent(command=("/opt/goose", "acp"))}
    assert folded(core.journal).agents == core.state.agents
    core.do(RemoveAgent(name="goose"))
    assert core.state.agents == {}
    assert [type(fact) for fact in facts(core)] == [AgentConfigured, AgentConfigured, AgentRemoved]


def test_the_same_agent_again_is_no_fact(core: CoreHarness):
    core.do(ConfigureAgent(agent()))
    decision = core.do(ConfigureAgent(agent()))
    assert (decision.events, decision.duplicate) == ((), True)


@pytest.mark.req("B14")
@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (agent("echo"), Code.E_INVALID_NAME),
        (agent(command=()), Code.E_INVALID_ARGS),
        (agent(env=("X=1",)), Code.E_INVALID_ARGS),
        (agent(env=("FAIRLEAD_HTTP_TOKEN",)), Code.E_INVALID_ARGS),
    ],
)
def test_what_cannot_be_an_agent_is_refused(core: CoreHarness, wrong: ConfiguredAgent, code: Code):
    assert core.refuses(ConfigureAgent(wrong)) == code
    assert core.state.agents == {}


def test_a_project_that_allows_every_built_in_agent_allows_a_new_one_and_a_chosen_list_stays(core: CoreHarness):
    chosen = CreateProject(
        name="web", directory=directory("/srv/web"), runtimes=("claude", "codex"), default_runtime="claude"
    )
    core.do(chosen)
    before = core.state.projects["api"].enabled_runtimes
    core.do(ConfigureAgent(agent()))
    assert core.state.projects["api"].enabled_runtimes == (*before, "goose")
    assert core.state.projects["api"].default_runtime == before[0]
    assert core.state.projects["web"].enabled_runtimes == ("claude", "codex")


def test_named_projects_allow_it_too_also_when_the_agent_is_known_already(core: CoreHarness):
    core.do(CreateProject(name="web", directory=directory("/srv/web"), runtimes=("claude",), default_runtime="claude"))
    core.do(ConfigureAgent(agent()))
    core.do(ConfigureAgent(agent(), projects=("2",)))
    assert core.state.projects["web"].enabled_runtimes == ("claude", "goose")
    assert core.refuses(ConfigureAgent(agent(), projects=("nowhere",))) == Code.E_PROJECT_NOT_FOUND


def test_an_agent_that_was_available_before_is_forced_on_no_project(core: CoreHarness):
    core.limits = Limits(runtimes=("echo", "claude", "codex", "goose"))
    decision = core.do(ConfigureAgent(agent()))
    assert not [e for e in decision.events if isinstance(e, ProjectUpdated)]


def test_an_agent_that_a_session_talks_to_stays_until_somebody_insists(core: CoreHarness):
    core.do(ConfigureAgent(agent()))
    core.turn("hello")
    core.do(ChangeRuntime(key_of().text, "goose"))
    assert core.refuses(RemoveAgent(name="goose")) == Code.E_AGENT_IN_USE
    core.do(RemoveAgent(name="goose", even_if_used=True))
    assert core.state.agents == {}


def test_an_agent_that_new_sessions_of_a_project_begin_with_stays(core: CoreHarness):
    core.do(ConfigureAgent(agent()))
    core.limits = Limits(runtimes=("echo", "goose"))
    core.do(CreateProject(name="web", directory=directory("/srv/web"), runtimes=("goose",), default_runtime="goose"))
    refusal = core.decide(RemoveAgent(name="goose")).refusal
    assert refusal is not None
    assert "project web" in refusal.message


def test_an_agent_that_is_not_there_cannot_go(core: CoreHarness):
    assert core.refuses(RemoveAgent(name="goose")) == Code.E_AGENT_NOT_FOUND


def test_a_release_keeps_the_digest_of_its_first_installation_also_after_it_was_removed(core: CoreHarness):
    first = agent(version="1.0.0", digest="sha256:aa", source="registry:goose")
    core.do(ConfigureAgent(first))
    core.do(RemoveAgent(name="goose"))
    other = agent(version="1.0.0", digest="sha256:bb", source="registry:goose")
    assert core.refuses(ConfigureAgent(other)) == Code.E_AGENT_DIGEST
    core.do(ConfigureAgent(first))
    core.do(ConfigureAgent(agent(version="1.0.1", digest="sha256:bb", source="registry:goose")))
    assert folded(core.journal).first_digests == {
        "registry:goose@1.0.0": "sha256:aa",
        "registry:goose@1.0.1": "sha256:bb",
    }
