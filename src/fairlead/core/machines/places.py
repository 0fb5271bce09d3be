"""Where a project lies: a path on another machine is `gpu:/home/me/trainer`, one on this machine begins with a slash.
Names of projects and agents there begin with the machine's: `gpu/trainer`, `gpu/claude`."""

import re
from functools import lru_cache
from typing import Final

MACHINE_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
RESERVED_NAMES: Final = frozenset({"daemon", "local", "here"})


def is_machine_name(name: str) -> bool:
    return MACHINE_NAME.fullmatch(name) is not None and name not in RESERVED_NAMES


@lru_cache(maxsize=4096)  # the scheduler asks for every running job whenever a job may start
def machine_of(path: str) -> str:
    """The machine that this path, or this `gpu:` alone, is on; empty for this machine."""
    if path.startswith("/"):  # a path on this machine, as most are
        return ""
    machine, colon, _ = path.partition(":")
    return machine if colon and MACHINE_NAME.fullmatch(machine) is not None else ""


def path_there(path: str) -> str:
    """The path as its own machine knows it."""
    machine = machine_of(path)
    return path[len(machine) + 1 :] if machine else path


def place(machine: str, path: str) -> str:
    return f"{machine}:{path}" if machine else path


def name_there(machine: str, name: str) -> str:
    """What a project or an agent of this machine is called here."""
    return f"{machine}/{name}" if machine else name


def machine_of_name(name: str) -> str:
    """The machine in the name of a project or an agent; empty for one of this machine."""
    machine, slash, _ = name.partition("/")
    return machine if slash and MACHINE_NAME.fullmatch(machine) is not None else ""


def names_on(machine: str, names: "tuple[str, ...]") -> tuple[str, ...]:
    """Those of these agents that are on this machine."""
    return tuple(name for name in names if machine_of_name(name) == machine)


def renamed_place(path: str, machine: str, new_name: str) -> str:
    """This path after its machine was renamed; a path elsewhere stays."""
    return place(new_name, path_there(path)) if machine_of(path) == machine else path


def renamed_name(name: str, machine: str, new_name: str) -> str:
    """The name of a project or an agent after its machine was renamed."""
    return name_there(new_name, own_name(name)) if machine_of_name(name) == machine else name


def own_name(name: str) -> str:
    """The name without its machine."""
    machine = machine_of_name(name)
    return name[len(machine) + 1 :] if machine else name
