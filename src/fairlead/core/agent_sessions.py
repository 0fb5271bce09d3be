"""An agent's own sessions, as its records tell of them: also those that were begun in the agent's own program. What
people and agents said there is data of others. Reads no record."""

from typing import Final

import msgspec

from fairlead.core.ids import ResumeKey

MOST_LISTED: Final = 20
MOST_EXCHANGES: Final = 3
"""How many of the last exchanges are shown to a person who takes a session up."""


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a person said to the agent, and what the agent answered last before the person spoke again."""

    prompt: str
    answer: str = ""
    at: str = ""


class StoredSession(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """One session in the records of an agent. `exchanges` counts them; with `has_more`, a record that is too long to be
    read whole has more than that. `position` says where the record ends now, in the words of the runtime: what is added
    later stands behind it."""

    key: ResumeKey
    first_words: str = ""
    began_at: str = ""
    changed_at: str = ""
    exchanges: int = 0
    has_more: bool = False
    latest: tuple[Exchange, ...] = ()
    position: str = ""


class SessionWriter(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A process outside of Fairlead that has this session open. Not `certain`: it works in the same directory and does
    not show which session it has. `ended_by` is the command that ends one which stays when the person has left; `pid`
    is 0 where the process cannot be seen."""

    pid: int
    command: str
    certain: bool = True
    ended_by: str = ""


class ResumeCommand(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a person types in a shell to go on with a session: where, with which variables, and which program."""

    directory: str
    argv: tuple[str, ...]
    variables: dict[str, str] = {}


class HandOff(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """A session whose agent's own session goes on in a shell since then: Fairlead starts no turn in it."""

    runtime: str = msgspec.field(name="tool")
    project_path: str
    key: ResumeKey
    person: str
    at: str
    position: str = ""
