"""Which ACP agents can be offered here: AGENT_COMMAND's, those that a person configured, and known ones on PATH."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Final

from fairlead.core.agents import ConfiguredAgent
from fairlead.runtimes.acp.known_agents import KNOWN_AGENTS, AcpAgent, KnownAgent, agent_of_command, known_agent
from fairlead.settings import Settings

UNNAMED_AGENT: Final = "acp"
"""The name of AGENT_COMMAND's agent, where its program is none that is known."""

_DEFAULT_AGENT: Final = "claude-acp"


def available_agents(settings: Settings, configured: Mapping[str, ConfiguredAgent]) -> dict[str, AcpAgent]:
    """By name, in the order in which they are offered. A setting wins over the journal, as everywhere; both win over
    PATH."""
    offered = [
        *_from_setting(settings),
        *(agent_from_configuration(agent, settings) for agent in configured.values()),
        *_find_on_path(settings),
    ]
    return _first_of_each_name(offered)


def default_acp_name(settings: Settings) -> str:
    """The agent that `/agent start` begins with, whether it is there or not: AGENT_COMMAND's, else Claude over ACP."""
    return _name_of(settings.agent_command) if settings.agent_command else _DEFAULT_AGENT


def _first_of_each_name(offered: Iterable[AcpAgent]) -> dict[str, AcpAgent]:
    agents: dict[str, AcpAgent] = {}
    for agent in offered:
        agents.setdefault(agent.name, agent)
    return agents


def _from_setting(settings: Settings) -> list[AcpAgent]:
    command = settings.agent_command
    return [_make_agent(_name_of(command), command, agent_of_command(command), settings)] if command else []


def _name_of(command: tuple[str, ...]) -> str:
    known = agent_of_command(command)
    return UNNAMED_AGENT if known is None else known.name


def agent_from_configuration(agent: ConfiguredAgent, settings: Settings) -> AcpAgent:
    known = known_agent(agent.name) or agent_of_command(agent.command)
    return _make_agent(agent.name, agent.command, known, settings, agent.env)


def _find_on_path(settings: Settings) -> list[AcpAgent]:
    found = ((known, _find_command(known, settings)) for known in KNOWN_AGENTS)
    return [_make_agent(known.name, command, known, settings) for known, command in found if command is not None]


def _find_command(known: KnownAgent, settings: Settings) -> tuple[str, ...] | None:
    renamed = {"gemini": settings.gemini_command}
    commands = [(renamed.get(program, program), *arguments) for program, *arguments in known.commands]
    return next((command for command in commands if shutil.which(command[0])), None)


def _make_agent(
    name: str, command: tuple[str, ...], known: KnownAgent | None, settings: Settings, env: tuple[str, ...] = ()
) -> AcpAgent:
    extra = tuple(dict.fromkeys((*settings.runtime_environment, *env)))
    if known is None:
        return AcpAgent(name=name, command=command, extra_environment=extra)
    is_preferred = PurePath(command[0]).name == known.programs[0]
    return AcpAgent(
        name=name,
        command=command,
        own_prefixes=known.own_prefixes,
        extra_environment=extra,
        environment=known.environment,
        check_environment=known.check_environment,
        login_hint=known.login_hint,
        good=known.good if is_preferred else None,
    )
