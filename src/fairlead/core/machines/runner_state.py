"""What a runner remembers: facts of its own journal, and the state that they make. No I/O.

1. A turn is in the journal before its order is acknowledged.
2. That its agent gets the prompt is there before the first byte of the prompt leaves (`HandingOver` in its events).
3. Its events are there before the daemon hears of them, and stay until the daemon says that it has the end.
4. After a crash, a turn without hand-over runs again; of one that was handed over, nobody knows the outcome.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from fairlead.core.engine import HandingOver, TurnEnded, TurnFailed
from fairlead.core.ids import SessionKeyText
from fairlead.core.machines.messages import RunTurn, StoredImage, TurnEvent
from fairlead.errors import Code

MOST_TOKENS: Final = 64
"""A server that lost what it had not synced may come back with a claim of some minutes ago."""


class _RunnerFact(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    pass


class RunnerFounded(_RunnerFact, frozen=True):
    runner_id: str
    machine: str


class EpochBegun(_RunnerFact, frozen=True):
    """This process is about to claim its epoch under this token: a claim with a token that is not known here was
    written by somebody else, after this journal was copied."""

    epoch: int
    token: str


class DaemonMet(_RunnerFact, frozen=True):
    """Where there is a token, the daemon also said how far its journal had come."""

    epoch: int
    step: int = 0
    token: str = ""


class TurnTaken(_RunnerFact, frozen=True):
    order: RunTurn


class AgentTurnTaken(_RunnerFact, frozen=True):
    """An agent began a turn by itself."""

    turn_id: str
    agent: str
    session_key: SessionKeyText
    generation: int
    agent_turn: str


class TurnEventsNoted(_RunnerFact, frozen=True):
    turn_id: str
    events: tuple[TurnEvent, ...]


class TurnsSettled(_RunnerFact, frozen=True):
    turn_ids: tuple[str, ...]


RunnerFact: TypeAlias = (
    RunnerFounded | EpochBegun | DaemonMet | TurnTaken | AgentTurnTaken | TurnEventsNoted | TurnsSettled
)
RUNNER_FACTS: Final[tuple[type[RunnerFact], ...]] = (
    RunnerFounded,
    EpochBegun,
    DaemonMet,
    TurnTaken,
    AgentTurnTaken,
    TurnEventsNoted,
    TurnsSettled,
)


class KeptTurn:
    """`origin` is the fact that it began with."""

    __slots__ = ("events", "origin")

    def __init__(self, origin: TurnTaken | AgentTurnTaken) -> None:
        self.origin = origin
        self.events: list[TurnEvent] = []

    @property
    def order(self) -> RunTurn | None:
        return self.origin.order if isinstance(self.origin, TurnTaken) else None

    @property
    def is_handed_over(self) -> bool:
        """An agent that began by itself has its words already."""
        return self.order is None or any(isinstance(event, HandingOver) for event in self.events)

    @property
    def is_ended(self) -> bool:
        return bool(self.events) and isinstance(self.events[-1], TurnEnded | TurnFailed)


class RunnerState:
    def __init__(self) -> None:
        self.runner_id = ""
        self.machine = ""
        self.epoch = 0
        self.tokens: list[str] = []
        self.daemon_epoch = 0
        self.daemon_step = 0
        self.daemon_token = ""
        self.turns: dict[str, KeptTurn] = {}

    def apply(self, fact: RunnerFact) -> None:
        match fact:
            case RunnerFounded():
                self.runner_id, self.machine = fact.runner_id, fact.machine
                self.turns.clear()
            case EpochBegun():
                self.epoch = max(self.epoch, fact.epoch)
                self.tokens = [*self.tokens, fact.token][-MOST_TOKENS:]
            case DaemonMet():
                self.daemon_epoch = max(self.daemon_epoch, fact.epoch)
                if fact.step > self.daemon_step:
                    self.daemon_step, self.daemon_token = fact.step, fact.token
            case TurnTaken():
                self.turns.setdefault(fact.order.turn_id, KeptTurn(fact))
            case AgentTurnTaken():
                self.turns.setdefault(fact.turn_id, KeptTurn(fact))
            case TurnEventsNoted():
                if fact.turn_id in self.turns:
                    self.turns[fact.turn_id].events += fact.events
            case TurnsSettled():
                for turn_id in fact.turn_ids:
                    self.turns.pop(turn_id, None)

    def facts(self) -> list[RunnerFact]:
        """Those that make this state again: the journal is written again with them when it has grown."""
        epochs: list[RunnerFact] = [EpochBegun(epoch=self.epoch, token=token) for token in self.tokens]
        turns: list[RunnerFact] = []
        for turn_id, turn in self.turns.items():
            turns.append(turn.origin)
            if turn.events:
                turns.append(TurnEventsNoted(turn_id=turn_id, events=tuple(turn.events)))
        return [
            RunnerFounded(runner_id=self.runner_id, machine=self.machine),
            *epochs,
            DaemonMet(epoch=self.daemon_epoch, step=self.daemon_step, token=self.daemon_token),
            *turns,
        ]


def end_lost_turns(state: RunnerState) -> list[RunnerFact]:
    """At a start: the turns whose agents had their prompt when the last process ended. Their agents are gone."""
    lost = TurnFailed(Code.E_UNKNOWN_AFTER_CRASH, "The runner ended while the agent worked.")
    return [
        TurnEventsNoted(turn_id=turn_id, events=(lost,))
        for turn_id, turn in state.turns.items()
        if turn.is_handed_over and not turn.is_ended
    ]


def named_files(state: RunnerState) -> Iterator[str]:
    """The pictures that the daemon may still ask for, and what people sent with prompts that have not been handed over:
    all others can go, at a start."""
    for turn in state.turns.values():
        yield from (event.digest for event in turn.events if isinstance(event, StoredImage))
        if turn.order is not None and not turn.is_handed_over:
            yield from (file.digest for file in turn.order.files)


def has_unknown_owner(state: RunnerState, token: str) -> bool:
    """Whether somebody claimed this machine's name after this journal was last written to: another runner, or this one
    before its files were set back. Nobody knows what became of the turns that are in this journal."""
    return bool(token) and token not in state.tokens
