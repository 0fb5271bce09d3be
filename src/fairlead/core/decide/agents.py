"""Deciding about configured agents: which can be, which projects allow a new one, which can go."""

import msgspec

from fairlead.core.agents import BUILT_IN_AGENTS, ConfiguredAgent, find_mistake
from fairlead.core.decide.decision import Decision, refuse
from fairlead.core.events import AgentConfigured, AgentRemoved, ProjectUpdated
from fairlead.core.limits import Limits
from fairlead.core.state import Project, State
from fairlead.errors import Code, FairleadError, error


class ConfigureAgent(msgspec.Struct, frozen=True):
    """Add an agent, or change the one of its name. `projects` allow it from now on, besides those that allow every
    built-in agent anyway."""

    agent: ConfiguredAgent
    projects: tuple[str, ...] = ()


class RemoveAgent(msgspec.Struct, frozen=True, kw_only=True):
    """With `even_if_used`, sessions and projects that use the agent are left with a name that nothing answers to."""

    name: str
    even_if_used: bool = False


def configure_agent(state: State, command: ConfigureAgent, _now: str, limits: Limits) -> Decision:
    agent = command.agent
    problem = _find_problem(state, agent, limits) or _find_missing_project(state, command.projects)
    if problem is not None:
        return Decision(refusal=problem)
    projects = _enabling_events(state, command, limits)
    if state.agents.get(agent.name) == agent:
        return Decision(projects, duplicate=True)
    return Decision((AgentConfigured(**msgspec.structs.asdict(agent)), *projects))


def remove_agent(state: State, command: RemoveAgent, _now: str, _limits: Limits) -> Decision:
    if command.name not in state.agents:
        return refuse(Code.E_AGENT_NOT_FOUND, f"There is no configured agent {command.name[:60]!r}.")
    users = users_of(state, command.name)
    if users and not command.even_if_used:
        return refuse(Code.E_AGENT_IN_USE, f"{command.name} is used by {', '.join(users[:5])}.")
    return Decision((AgentRemoved(command.name),))


def users_of(state: State, name: str) -> list[str]:
    """What would no longer find the agent: sessions that talk to it, and projects whose new sessions begin with it."""
    sessions = [f"session {s.session_id}" for s in state.sessions.values() if s.runtime == name]
    projects = [f"project {p.name}" for p in state.projects.values() if p.default_runtime == name and not p.removed]
    return [*sessions, *projects]


def _find_problem(state: State, agent: ConfiguredAgent, limits: Limits) -> FairleadError | None:
    mistake = find_mistake(agent, limits.own_variables)
    if mistake is not None:
        return error(mistake.code, f"{mistake.sentence[0].upper()}{mistake.sentence[1:]}.")
    first = state.first_digests.get(agent.release, agent.digest)
    if agent.digest and agent.digest != first:
        return error(
            Code.E_AGENT_DIGEST,
            f"{agent.name} {agent.version} has the digest {agent.digest}; it was {first} when it was first installed.",
        )
    return None


def _find_missing_project(state: State, names: tuple[str, ...]) -> FairleadError | None:
    missing = next((name for name in names if state.project_named(name) is None), None)
    return None if missing is None else error(Code.E_PROJECT_NOT_FOUND, f"There is no project {missing[:60]!r}.")


def _enabling_events(state: State, command: ConfigureAgent, limits: Limits) -> tuple[ProjectUpdated, ...]:
    """An agent that is new here is also allowed in every project whose agents nobody chose, or that allows all
    built-in agents."""
    name = command.agent.name
    here = {runtime for runtime in limits.runtimes if runtime in BUILT_IN_AGENTS}
    named = {project.name for given in command.projects if (project := state.project_named(given)) is not None}
    is_new = name not in limits.runtimes
    return tuple(
        _with_runtime(project, name)
        for project in state.projects.values()
        if name not in project.enabled_runtimes
        and not project.removed
        and (project.name in named or (is_new and (project.has_all_agents or here.issubset(project.enabled_runtimes))))
    )


def _with_runtime(project: Project, name: str) -> ProjectUpdated:
    return ProjectUpdated(
        name=project.name,
        path=project.path,
        enabled_runtimes=(*project.enabled_runtimes, name),
        default_runtime=project.default_runtime,
        default_args=project.default_args,
        disabled=project.disabled,
        tools_chosen=not project.has_all_agents,
    )
