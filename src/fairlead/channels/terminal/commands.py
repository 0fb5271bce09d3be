"""The words after a slash: parsed into the requests that every channel offers. Pure; knows no server and no screen."""

import difflib
import shlex
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from fairlead.core import requests as r
from fairlead.core.replies import AgentReport
from fairlead.errors import Code, FairleadError, error


class Local(msgspec.Struct, frozen=True):
    """What the terminal does by itself."""

    what: Literal["help", "quit"]


Parsed: TypeAlias = r.Request | Local
Words = list[str]


class Command(NamedTuple):
    usage: str
    words: str
    make: Callable[..., Parsed]
    fewest: int = 0
    most: int = 0


_MODEL: Final = "/agent model"
_MODE: Final = "/agent mode"

COMMANDS: Final[dict[str, Command]] = {
    "/status": Command("", "what this session is doing", r.Status),
    "/tool": Command("NAME", "use another tool from the next job on", r.Tool, 1, 1),
    "/retry": Command("JOB", "try a failed job again", r.Retry, 1, 1),
    "/cancel": Command("[JOB]", "cancel a job, or all of this session", r.Cancel, 0, 1),
    "/reset": Command("", "begin afresh; history stays", r.Reset),
    "/why": Command("JOB|MESSAGE", "what became of it, step by step", r.Why, 1, 1),
    "/project list": Command("", "all projects", r.ProjectList),
    "/project status": Command("PROJECT", "how a project is doing", r.ProjectStatus, 1, 1),
    "/project switch": Command("PROJECT", "work in another project", r.ProjectSwitch, 1, 1),
    "/project add": Command("PATH", "register a directory", r.ProjectAdd, 1, 1),
    "/project create": Command(
        "NAME PATH TOOLS DEFAULT_TOOL [ARGS_JSON]", "register one in detail", r.ProjectCreate, 4, 5
    ),
    "/session list": Command("[PROJECT]", "all sessions", r.SessionList, 0, 1),
    "/agent status": Command("", "how the agent's process is doing", r.AgentStatus),
    _MODEL: Command("MODEL", "let the agent use another model", r.AgentModel, 1, 1),
    _MODE: Command("MODE", "change what the agent may do without asking", r.AgentMode, 1, 1),
    "/agent usage": Command("", "what this session used", r.AgentUsage),
    "/agent stop": Command("", "end the agent's process in an orderly way", r.AgentStop),
    "/agent kill": Command("", "end the agent's process by force", lambda: r.AgentStop(kill=True)),
    "/help": Command("", "this list", lambda: Local("help")),
    "/quit": Command("", "leave (or Ctrl-D)", lambda: Local("quit")),
}


_ELSEWHERE: Final = {
    "/agent start": "Your next message starts the agent; /project switch chooses where it works.",
}
"""Commands of other channels that a terminal has no need of, and what to do instead."""

_FIRST_WORDS: Final = tuple(dict.fromkeys(name.split()[0] for name in COMMANDS))


def is_command(line: str) -> bool:
    """One of ours, rightly used or not, or a slip of the fingers for one. Agents have commands with a slash of their
    own, and paths begin with one too: everything else is a message."""
    words = line.split()
    if not line.startswith("/") or line.startswith("//") or "\n" in line.strip():
        return False
    return words[0] in _FIRST_WORDS or bool(_near(words[0]))


def message_in(line: str) -> str:
    return line[1:] if line.startswith("//") else line


def parse(line: str) -> Parsed:
    """Raises E_INVALID_ARGS that says how it is used, or what was probably meant."""
    try:
        words = shlex.split(line)
    except ValueError as fault:
        raise error(Code.E_INVALID_ARGS, f"A quotation mark is missing its partner: {fault}.") from fault
    name = _name_in(words)
    if name is None:
        raise _unknown(words)
    command = COMMANDS[name]
    arguments = words[len(name.split()) :]
    if not command.fewest <= len(arguments) <= command.most:
        raise error(Code.E_INVALID_ARGS, f"Usage: {name} {command.usage}".rstrip(), next_step="/help lists all.")
    return command.make(*arguments)


def _name_in(words: Words) -> str | None:
    return next((name for name in (" ".join(words[:2]), " ".join(words[:1])) if name in COMMANDS), None)


def _unknown(words: Words) -> FairleadError:
    typed = " ".join(words[:2])
    if typed in _ELSEWHERE:
        return error(Code.E_INVALID_ARGS, f"{typed} is not needed here.", next_step=_ELSEWHERE[typed])
    near = difflib.get_close_matches(typed, COMMANDS, 1) or _near(words[0])
    meant = f"Did you mean {near[0]}? " if near else ""
    return error(
        Code.E_INVALID_ARGS,
        f"{typed[:40]} is no command here.",
        next_step=f"{meant}/help lists all; begin with // to say it to the agent.",
    )


def _near(word: str) -> list[str]:
    return difflib.get_close_matches(word, _FIRST_WORDS, 1, cutoff=0.75)


def help_lines() -> list[str]:
    width = max(len(f"{name} {command.usage}") for name, command in COMMANDS.items() if len(command.usage) < 20)
    return [f"{f'{name} {command.usage}':<{width}}  {command.words}" for name, command in COMMANDS.items()]


def completions(typed: str) -> list[str]:
    return [name for name in COMMANDS if name.startswith(typed) and name != typed] if typed.startswith("/") else []


def completed_by_agent(typed: str) -> bool:
    """Whether the next word is one that only the session's agent knows."""
    return typed.startswith((f"{_MODEL} ", f"{_MODE} "))


def agent_completions(typed: str, agent: AgentReport) -> list[str]:
    lines = (*(f"{_MODEL} {model}" for model in agent.models), *(f"{_MODE} {mode}" for mode in agent.modes))
    return [line for line in lines if line.startswith(typed) and line != typed]
