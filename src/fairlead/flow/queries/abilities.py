"""What an agent cannot do, and which agents here can, read off the capabilities of the runtimes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from fairlead.core.agents import ECHO
from fairlead.core.replies import Ability, Inability
from fairlead.ports import Runtime, RuntimeCapabilities

_ABILITIES: Final[dict[Ability, Callable[[RuntimeCapabilities], bool]]] = {
    "ask": lambda can: can.permissions,
    "steer": lambda can: can.steering,
    "fork": lambda can: can.forks,
}


def inabilities(name: str, runtimes: Mapping[str, Runtime], enabled: Iterable[str]) -> tuple[Inability, ...]:
    """The others are those that the project has enabled; where none of these can, those of this machine."""
    runtime = runtimes.get(name)
    if runtime is None:
        return ()
    at_hand = [other for other in enabled if other in runtimes]
    return tuple(
        Inability(ability, _that_can(is_able, runtimes, at_hand) or _that_can(is_able, runtimes, runtimes))
        for ability, is_able in _ABILITIES.items()
        if not is_able(runtime.capabilities)
    )


def _that_can(
    is_able: Callable[[RuntimeCapabilities], bool], runtimes: Mapping[str, Runtime], names: Iterable[str]
) -> tuple[str, ...]:
    """Echo only repeats what it hears, so nobody is sent to it."""
    return tuple(name for name in names if name != ECHO and is_able(runtimes[name].capabilities))
