"""Agents that a person configured: what is known of each, and which values cannot be. Knows no program and no file."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from fairlead.errors import Code

ECHO: Final = "echo"
"""The agent that only repeats: what a project has where no other agent is installed."""

BUILT_IN_AGENTS: Final = ("claude", "codex", "gemini", ECHO)
"""The agents with a runtime of their own. A configured agent cannot have one of these names."""

AGENT_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
FROM_CONFIG: Final = "config"
FROM_COMMAND: Final = "command"
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ConfiguredAgent(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """The journal, the state and the readable copy hold an agent with these fields.

    `env` has names of variables that the agent may see, never values. `source` says where the program comes from:
    `config` or `command` where a person named its command, `npm:PACKAGE`, `pypi:PACKAGE` or `registry:ID` where
    Fairlead installed it; `version` and `digest` are then those of what was installed."""

    name: str
    command: tuple[str, ...]
    env: tuple[str, ...] = ()
    version: str = ""
    digest: str = ""
    source: str = FROM_COMMAND

    @property
    def release(self) -> str:
        """What the digest is the digest of."""
        return f"{self.source}@{self.version}"


class AgentMistake(msgspec.Struct, frozen=True):
    """`token` is the word that is wrong, as a person wrote it: a file is searched for its line."""

    code: Code
    sentence: str
    token: str


def find_mistake(agent: ConfiguredAgent, own_variables: Iterable[str]) -> AgentMistake | None:
    """Why there can be no such agent; None if there can. `own_variables` are prefixes of Fairlead's own variables."""
    if not AGENT_NAME.fullmatch(agent.name):
        sentence = f"agent name {agent.name[:60]!r} is not 1 to 40 characters of a-z, 0-9, - and _"
        return AgentMistake(Code.E_INVALID_NAME, sentence, agent.name)
    if agent.name in BUILT_IN_AGENTS:
        sentence = f"agent {agent.name!r} is built in; another agent needs another name"
        return AgentMistake(Code.E_INVALID_NAME, sentence, agent.name)
    return _find_command_mistake(agent) or _find_variable_mistake(agent, tuple(own_variables))


def _find_command_mistake(agent: ConfiguredAgent) -> AgentMistake | None:
    """The program cannot be empty; an argument may be, but none can hold a NUL."""
    if not agent.command or not agent.command[0].strip():
        sentence = f'agent {agent.name!r}: command must name a program, as in ["{agent.name}", "acp"]'
        return AgentMistake(Code.E_INVALID_ARGS, sentence, agent.name)
    broken = next((part for part in agent.command if "\0" in part), None)
    if broken is not None:
        return AgentMistake(Code.E_INVALID_ARGS, f"agent {agent.name!r}: command holds a NUL character", agent.name)
    return None


def _find_variable_mistake(agent: ConfiguredAgent, own_variables: tuple[str, ...]) -> AgentMistake | None:
    for name in agent.env:
        wrong = _describe_wrong_variable(name, own_variables)
        if wrong:
            return AgentMistake(Code.E_INVALID_ARGS, f"agent {agent.name!r}: {wrong}", name)
    return None


def _describe_wrong_variable(name: str, own_variables: tuple[str, ...]) -> str:
    """A value is not repeated: it may be a secret."""
    variable, equals, _value = name.partition("=")
    if equals:
        return (
            f"env holds names of variables, not values: write {variable[:60]!r}, and set its value in the environment"
        )
    if not _VARIABLE.fullmatch(name):
        return f"env names {name[:60]!r}, which is not a valid variable name"
    if name.startswith(own_variables):
        return f"env names {name!r}: Fairlead's own variables are never passed to an agent"
    return ""
