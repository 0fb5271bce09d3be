"""What an ACP agent says between two prompts. The protocol has no word for the end of that: silence is the end."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Final, TypeAlias

from fairlead.core.engine import (
    Diagnostic,
    EngineEvent,
    PermissionRequested,
    PlanProposed,
    QuestionRequested,
    TextDelta,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from fairlead.runtimes.acp import turn_ends, wire
from fairlead.runtimes.acp.translate import SessionFacts, UpdateTranslator

SILENCE_SEC: Final = 3.0
_BEGINS: Final = (TextDelta, ToolStarted, PermissionRequested, QuestionRequested, PlanProposed)

Ending: TypeAlias = Callable[[str], TurnEnded | TurnFailed]
"""Makes the end of a turn from what the agent has said in it."""


class OwnTurns:
    """The session's offers (commands, modes, its title) are noted whenever they come. `may_begin` is False before the
    first prompt, when an agent repeats its history, and after a cancelled one, whose last words come late."""

    def __init__(
        self,
        prefix: str,
        facts: SessionFacts,
        on_event: Callable[[str, EngineEvent], None] | None,
        *,
        is_asking: Callable[[], bool] = lambda: False,
        watchdog_sec: float = float("inf"),
        on_hung: Callable[[], None] = lambda: None,
    ) -> None:
        self.may_begin = False
        self._prefix = prefix
        self._numbers = itertools.count(1)
        self._on_event = on_event
        self._is_asking = is_asking
        self._watchdog_sec = watchdog_sec
        self._on_hung = on_hung
        self._translator = UpdateTranslator(facts)
        self._turn_id = ""
        self._heard_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        return bool(self._turn_id)

    @property
    def is_heard(self) -> bool:
        """Whether somebody would see a question that the agent asks now."""
        return self._on_event is not None and self.may_begin

    def hear(self, update: wire.Update) -> None:
        for event in self._translator.translate(update):
            self.emit(event)
        self.note_life()

    def emit(self, event: EngineEvent) -> None:
        if self._on_event is None or not self.may_begin or isinstance(event, Diagnostic):
            return
        if not self._turn_id:
            if not isinstance(event, _BEGINS) or (isinstance(event, TextDelta) and not event.text.strip()):
                return
            self._turn_id = f"{self._prefix}/own-{next(self._numbers)}"
        self._on_event(self._turn_id, event)
        self.note_life()

    def find_shown(self, tool_id: str) -> tuple[wire.ToolContent, ...]:
        """What the agent has shown of a call in a turn of its own, before it asks about it."""
        return self._translator.find_shown(tool_id)

    def end_message(self) -> None:
        self._translator.end_message()

    def end(self, ending: Ending = TurnEnded) -> None:
        """Also when the next prompt begins: what the agent has said so far is its answer."""
        if self._timer is not None:
            self._timer.cancel()
        turn_id, self._turn_id = self._turn_id, ""
        if turn_id and self._on_event is not None:
            self._on_event(turn_id, ending(self._translator.text))
        self._translator.begin_turn()

    def note_life(self) -> None:
        """The agent has sent something, or a person is no longer waited for: silence counts from now."""
        self._heard_at = asyncio.get_running_loop().time()
        if self._turn_id:
            self._wait_for_silence()

    def _wait_for_silence(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(SILENCE_SEC, self._end_if_silent)

    def _end_if_silent(self) -> None:
        """A tool may take its time, as it may in a turn of the person's; while a person is asked, no time counts."""
        if self._is_asking():
            self.note_life()
        elif not self._translator.is_in_tool:
            self.end()
        elif asyncio.get_running_loop().time() - self._heard_at < self._watchdog_sec:
            self._wait_for_silence()
        else:
            self.end(lambda text: turn_ends.silent_too_long(self._watchdog_sec, text))
            self._on_hung()
