"""What the daemon and a runner say to each other. Orders go to the runner, facts come from it; what happens to both on
the way is `link.py`'s. Everything here can be said twice: turns and calls have names by which a repetition is known.

A turn is a list of lasting engine events, numbered from 0, that the runner keeps until the daemon has the end of its
job in its own journal (`SettleTurns`). Words that are only shown travel apart (`TurnShown`) and are never kept."""

from typing import Any, Final, TypeAlias

import msgspec

from fairlead.core.agent_tools import ToolHolder
from fairlead.core.engine import (
    EngineEvent,
    Interrupt,
    Invocation,
    Response,
    TextDelta,
    ThinkingDelta,
    ToolProgressed,
)
from fairlead.core.ids import SessionKeyText
from fairlead.core.machines.offers import AgentOffer
from fairlead.core.trees import TreeSnapshot

PROTOCOL: Final = 1
"""Rises when an older runner could misunderstand an order."""
UNSAID_PROTOCOL: Final = 1
"""Of those who do not say theirs. Never changes: what equals a default is not sent."""

ONLY_SHOWN: Final = (TextDelta, ThinkingDelta, ToolProgressed)
"""Events that are lost with the moment: no result of a turn depends on them."""


class _Message(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag=True, kw_only=True):
    pass


class SentFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that goes with a prompt: its bytes are a blob of the wire."""

    name: str
    digest: str
    media_type: str = ""


class StartSnapshot(_Message, frozen=True):
    """In the list of a turn's events, before HandingOver: the files as they were then, or why nobody knows."""

    snapshot: TreeSnapshot | None = None
    code: str = ""
    message: str = ""


class StoredImage(_Message, frozen=True):
    """In the list of a turn's events, the place of a picture: its bytes are a blob of the wire."""

    media_type: str
    digest: str


class AnswerNoted(_Message, frozen=True):
    """In the list of a turn's events: the agent was given a response to this request. A daemon that hears the turn from
    its beginning again asks nobody for it."""

    request_id: str


TurnEvent: TypeAlias = EngineEvent | StartSnapshot | StoredImage | AnswerNoted


# --- orders --------------------------------------------------------------------------------------------------------


class DaemonHello(_Message, frozen=True):
    """The first order of every link, and said again after others or when the machine was renamed. `step` counts the
    claims in the daemon's journal, `token` is that of the last: by them a runner knows how far that journal had come.
    `machine` is what people call it."""

    version: str
    protocol: int = UNSAID_PROTOCOL
    step: int = 0
    token: str = ""
    machine: str = ""


class RunTurn(_Message, frozen=True):
    """Run this turn, or, where it is known already, send its events from `since` on. With `was_taken` it was taken by a
    runner before: one that does not know it must not run it, because nobody knows what became of it. With `snapshot`,
    its label, the files are looked at before the agent has its prompt, for at most `snapshot_sec`."""

    turn_id: str
    agent: str
    invocation: Invocation
    files: tuple[SentFile, ...] = ()
    limit_sec: float = 0.0
    since: int = 0
    was_taken: bool = False
    snapshot: str = ""
    snapshot_sec: float = 0.0


class WatchTurn(_Message, frozen=True):
    """Send the events of a turn that an agent began by itself, from `since` on."""

    turn_id: str
    since: int = 0


class SettleTurns(_Message, frozen=True):
    """The ends of the jobs of these turns are in the daemon's journal: forget them. One that still runs, because a
    person cancelled its job, is ended first."""

    turn_ids: tuple[str, ...]


class Tell(_Message, frozen=True):
    """For the agent of this session: a person's response, or an interruption."""

    agent: str
    session_key: SessionKeyText
    instruction: Response | Interrupt


class EndSession(_Message, frozen=True):
    agent: str
    session_key: SessionKeyText
    how: str = "stop"


class MachineCall(_Message, frozen=True):
    """A question to the machine, answered by Replied. `name` is that of a method of a port, `args` its arguments."""

    call_id: str
    name: str
    args: dict[str, Any] = {}


class ToolReplied(_Message, frozen=True):
    """What an agent is told about its call of one of Fairlead's own tools."""

    call_id: str
    text: str
    ok: bool = True


class BlobWanted(_Message, frozen=True):
    """From either end: the wire does not have this blob any more."""

    digest: str


class BlobSent(_Message, frozen=True):
    """From either end: the wire has the blob again, or, with `is_gone`, nobody has it."""

    digest: str
    is_gone: bool = False


Order: TypeAlias = (
    DaemonHello
    | RunTurn
    | WatchTurn
    | SettleTurns
    | Tell
    | EndSession
    | MachineCall
    | ToolReplied
    | BlobWanted
    | BlobSent
)

# --- facts ---------------------------------------------------------------------------------------------------------


class RunnerHello(_Message, frozen=True):
    """The first fact of every link, and said again when the machine has other agents. `runner_id` is that of the
    runner's journal: with another one, nobody knows what became of the turns that the machine had. `turns` are those
    that it keeps. `daemon_step` and `daemon_token` are the farthest that a daemon told of its journal: one that does
    not know them is an older copy."""

    runner_id: str
    version: str
    protocol: int = UNSAID_PROTOCOL
    agents: tuple[AgentOffer, ...] = ()
    slots: int = 1
    turns: tuple[str, ...] = ()
    clock: str = ""
    daemon_step: int = 0
    daemon_token: str = ""


class TurnTold(_Message, frozen=True):
    """Lasting events of a turn; the first of them is number `first`. `at` is the runner's clock."""

    turn_id: str
    first: int
    events: tuple[TurnEvent, ...]
    at: str = ""


class AgentTurnBegun(_Message, frozen=True):
    """An agent began a turn by itself; its events are numbered like those of any turn."""

    turn_id: str
    agent: str
    session_key: SessionKeyText
    generation: int
    agent_turn: str


class Replied(_Message, frozen=True):
    """The result of a call, or the error that it raised."""

    call_id: str
    result: Any = None
    code: str = ""
    message: str = ""
    details: dict[str, Any] = {}


class ToolCalled(_Message, frozen=True):
    """An agent calls one of Fairlead's own tools."""

    call_id: str
    holder: ToolHolder
    tool: str
    arguments: dict[str, Any] = {}


Fact: TypeAlias = RunnerHello | TurnTold | AgentTurnBegun | Replied | ToolCalled | BlobWanted | BlobSent

# --- shown and never kept ------------------------------------------------------------------------------------------


class TurnShown(_Message, frozen=True):
    """What an agent says, as it says it, behind `after` lasting events of its turn."""

    turn_id: str
    after: int
    events: tuple[TextDelta | ThinkingDelta | ToolProgressed, ...]


class Beat(_Message, frozen=True):
    """The runner is there."""

    clock: str
    running: int = 0


Live: TypeAlias = TurnShown | Beat
