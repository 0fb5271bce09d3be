"""The command line of an installed agent: which program of a package it is, and how it is run. Pure."""

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath

from fairlead.errors import Code, error
from fairlead.runtimes.install.offers import Package


def choose_program(package: Package, programs: Iterable[str]) -> tuple[str, ...]:
    """The program of the package that speaks ACP, and its arguments. Raises E_AGENT_INSTALL if it brings none."""
    brought = tuple(programs)
    known = next((command for command in package.commands if command[0] in brought), None)
    if known is not None:
        return known
    own = own_name(package.name)
    if not package.commands and (own in brought or len(brought) == 1):
        return (own if own in brought else brought[0], *package.args)
    wanted = " or ".join(command[0] for command in package.commands) or own
    raise error(
        Code.E_AGENT_INSTALL,
        f"{package.name} has no program {wanted}; it has {', '.join(brought) or 'none'}.",
        next_step="Try another version, or install the agent by hand: `fairlead agent add NAME -- COMMAND`.",
    )


def own_name(package: str) -> str:
    """What npx and uvx run: the package's name without its scope and its extras."""
    return re.sub(r"\[.*\]$", "", package.rpartition("/")[2])


def with_variables(command: tuple[str, ...], variables: Mapping[str, str]) -> tuple[str, ...]:
    """The journal holds no values of variables; those that a registry sets are part of the command line."""
    settings = tuple(f"{name}={value}" for name, value in variables.items())
    return ("/usr/bin/env", *settings, *command) if settings else command


def program_of(command: tuple[str, ...]) -> str:
    """The program that a command line runs, also behind `env NAME=VALUE`."""
    parts = command
    if PurePath(parts[0]).name == "env":
        parts = tuple(part for part in parts[1:] if "=" not in part) or parts
    return parts[0]
