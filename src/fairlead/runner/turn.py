"""One turn of a runner, from its order to its last event. The time limit is the agent's: it is paused while a person
is asked."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import ExitStack, aclosing
from typing import Any, Final, cast

from fairlead.core import engine
from fairlead.core.engine import EngineEvent, TurnEnded, TurnFailed
from fairlead.core.machines.messages import ONLY_SHOWN, RunTurn, StartSnapshot, StoredImage, TurnEvent, TurnShown
from fairlead.errors import Code, FairleadError
from fairlead.kit.tasks import OwnedTasks, PausableTimeout
from fairlead.observe import log_failure
from fairlead.ports import Runtime
from fairlead.runner.book import TurnInputs

LIVE_SEC: Final = 0.05
"""Words that are only shown wait so long for more of them."""

MOST_UNSYNCED: Final = 64
"""An agent that says more than this while the disk is busy is read from again when the disk has it."""

Note = Callable[[Sequence[TurnEvent]], int]
TakeSnapshot = Callable[[], Coroutine[Any, Any, StartSnapshot]]
UntilDurable = Callable[[int], Awaitable[None]]
StoreImage = Callable[[engine.ImageProduced], Awaitable[StoredImage]]
Show = Callable[[TurnShown], None]


class RunnerTurn:
    """`note` writes events down, and returns the number that `until_durable` takes; `taken` is that of the order.
    `show` tells words that are only shown; `count` says how many lasting events there are."""

    def __init__(
        self,
        order: RunTurn,
        *,
        note: Note,
        until_durable: UntilDurable,
        taken: int,
        show: Show,
        store_image: StoreImage,
        count: Callable[[], int],
        take_snapshot: TakeSnapshot | None = None,
    ) -> None:
        self._order = order
        self._count = count
        self._note = note
        self._until_durable = until_durable
        self._taken = taken
        self._show = show
        self._store_image = store_image
        self._unsynced = 0
        self._noted: list[TurnEvent] = []
        self._take_snapshot = take_snapshot
        self._snapshot: asyncio.Task[StartSnapshot] | None = None
        self._tasks = OwnedTasks("snapshot of a turn")
        self._timer = PausableTimeout(order.limit_sec or None)
        self._pauses: dict[str, ExitStack] = {}
        self._words: list[EngineEvent] = []

    async def run(self, runtime: Runtime, inputs: TurnInputs) -> None:
        """Returns when the end is durable. A turn that is cancelled ends its agent and says nothing more."""
        try:
            async with self._timer:
                end = await self._listen(runtime, inputs)
        except TimeoutError:
            limit = self._order.limit_sec
            end = TurnFailed(Code.E_CLI_TIMEOUT, f"The agent timed out after {limit:.0f} s and was ended.")
        except FairleadError as fault:
            end = TurnFailed(fault.code, fault.message)
        except Exception as fault:  # a runtime that breaks, in whatever way, ends no more than its own turn
            log_failure("a turn crashed", fault, turn_id=self._order.turn_id)
            end = TurnFailed(Code.E_INTERNAL, f"{type(fault).__name__}: {fault}")
        finally:
            for pause in self._pauses.values():
                pause.close()
            if self._snapshot is not None:
                self._snapshot.cancel()
        self._words.clear()  # the end brings the whole text
        noted, self._noted = self._noted, []
        await self._until_durable(self._note([*noted, end]))

    async def _listen(self, runtime: Runtime, inputs: TurnInputs) -> TurnEnded | TurnFailed:
        await self._wait_for_disk(self._taken)  # what is prepared lies on the same disk, which may be full
        invocation = await inputs.prepare(self._order)
        if self._take_snapshot is not None:  # while the agent's process starts
            self._snapshot = self._tasks.start(self._take_snapshot(), name="snapshot")
        if runtime.capabilities.hand_over == "start":
            await self._hand_over(engine.HandingOver())
        stream = cast("AsyncGenerator[EngineEvent]", runtime.invoke(invocation))
        async with aclosing(stream):
            return await self._take_events(stream)

    async def _take_events(self, stream: AsyncIterator[EngineEvent]) -> TurnEnded | TurnFailed:
        async for event in stream:
            match event:
                case TurnEnded() | TurnFailed():
                    return event
                case engine.Ready():
                    pass  # the order is durable already
                case engine.ImageProduced():
                    await self._note_one(await self._store_image(event))
                case engine.HandingOver():
                    await self._hand_over(event)
                case _ if isinstance(event, ONLY_SHOWN):
                    self._say(event)
                case _:
                    self._watch_time(event)
                    await self._note_one(event)
        return TurnFailed(Code.E_ADAPTER_MISSING_RESULT, "The agent's stream ended without a result.")

    async def _hand_over(self, event: engine.HandingOver) -> None:
        """The agent waits for the disk before its prompt, and for the snapshot, which must hold nothing of its own."""
        looked: list[TurnEvent] = []
        if self._snapshot is not None:
            with self._timer.pause():
                looked.append(await self._snapshot)
            self._snapshot = None
        self._noted += [*looked, event]
        await self._wait_for_disk(self._note_together())

    async def _note_one(self, event: TurnEvent) -> None:
        """Waits for no disk. Events that come in one step are one fact, and share its sync and its message."""
        if not self._noted:
            asyncio.get_running_loop().call_soon(self._note_together)
        self._noted.append(event)
        self._unsynced += 1
        if self._unsynced >= MOST_UNSYNCED:
            self._unsynced = 0
            await self._wait_for_disk(self._note_together())

    def _note_together(self) -> int:
        """Behind the words that were said before. The number of the fact; 0 if there is nothing to note."""
        events, self._noted = self._noted, []
        self._flush()
        return self._note(events) if events else 0

    async def _wait_for_disk(self, number: int) -> None:
        """The agent's time does not run meanwhile: a full disk is not its fault."""
        with self._timer.pause():
            await self._until_durable(number)

    # --- the time limit

    def _watch_time(self, event: EngineEvent) -> None:
        match event:
            case engine.PermissionRequested() | engine.QuestionRequested() | engine.PlanProposed():
                pause = self._pauses[event.request_id] = ExitStack()
                pause.enter_context(self._timer.pause())
            case engine.RequestWithdrawn():
                self.resume(event.request_id)
            case _:
                pass

    def resume(self, request_id: str) -> None:
        """A person has answered."""
        pause = self._pauses.pop(request_id, None)
        if pause is not None:
            pause.close()

    # --- what is only shown

    def _say(self, event: EngineEvent) -> None:
        if self._noted:
            self._note_together()  # these words come behind it
        if not self._words:
            asyncio.get_running_loop().call_later(LIVE_SEC, self._flush)
        coalesce(self._words, event)

    def _flush(self) -> None:
        words, self._words = self._words, []
        if words:
            shown = cast("tuple[Any, ...]", tuple(words))
            self._show(TurnShown(turn_id=self._order.turn_id, after=self._count(), events=shown))


def coalesce(events: list[EngineEvent], event: EngineEvent) -> None:
    """Words that follow each other are one."""
    match event, events[-1] if events else None:
        case engine.TextDelta(text=text), engine.TextDelta(text=before):
            events[-1] = engine.TextDelta(before + text)
        case engine.ThinkingDelta(text=text), engine.ThinkingDelta(text=before):
            events[-1] = engine.ThinkingDelta(before + text)
        case _:
            events.append(event)
