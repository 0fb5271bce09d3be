"""The outbox: an entry is planned once, then sent piece by piece. Sending may repeat a piece after a crash, so an
earlier attempt is looked for in the channel before a piece is sent again.

Entries of one conversation are sent in the order in which they were made; one dead conversation never delays another.
While a channel is away its entries wait, and no attempt counts; when it says that it is back, they go at once.
"""

import asyncio
import contextlib
import hashlib
import itertools
from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any, Final

from fairlead.core.decide.delivery import AbandonDelivery, DeferDelivery, MarkPieceSent, PlanDelivery
from fairlead.core.events import Piece
from fairlead.core.ids import ConversationAddress, EntryId, JobId, MessageId
from fairlead.core.message_ids import written_message
from fairlead.core.read_models import question_view
from fairlead.core.retention import is_rising
from fairlead.core.routing import Destination, requester_destination, resolve_destination
from fairlead.core.state import Job, OutboxEntry, State
from fairlead.errors import Code, FairleadError
from fairlead.flow.ledger import Ledger
from fairlead.flow.outbox.attempt_times import AttemptTimes
from fairlead.flow.outbox.channel_reconnects import ChannelReconnects
from fairlead.flow.outbox.composer import Composer
from fairlead.kit.backoff import Backoff
from fairlead.kit.tasks import TaskOwner, result_without_waiting
from fairlead.observe import log, log_failure
from fairlead.ports import (
    Channel,
    ChannelAway,
    ChannelCapabilities,
    DeliveryForbidden,
    DeliveryImpossible,
    DeliveryLater,
    OutcomeUnknown,
    OutgoingMessage,
)

LOOK_AFTER_SECONDS: Final = 60.0
"""Channels recognise a repeated nonce for a few minutes only: after this long, the outbox looks before it sends."""

AWAY_SECONDS: Final = 15.0
"""How often the outbox tries a channel that is away and has not said that it is back."""

AWAY_NOTED_SECONDS: Final = 3600.0

LONGEST_PAUSE_SEC: Final = 900.0
"""Between two attempts at an entry that its channel refuses for now. An entry is tried for days, and each attempt is a
line in the journal; whatever may end the refusal sooner is reported as `Gate.came_back`."""


_WAITED_FOR: Final = frozenset({"answer", "question", "link", "sent", "card", "notice"})
"""What waits for a right that is missing. Who starts a thread asks again; nobody waits for a reminder."""

_WARNED_ABOUT: Final = frozenset({"fallback", "nowhere"})
"""Ways of routing an entry that are no longer those of a binding."""


def nonce_of(state_id: str, entry_id: EntryId, index: int) -> str:
    """The same on every attempt and in every process: four characters name the state directory, the rest the piece."""
    digest = hashlib.blake2b(f"{entry_id}:{index}".encode(), digest_size=10).hexdigest()
    return f"{state_id[:4]}{digest}"


class Outbox:
    def __init__(
        self,
        ledger: Ledger,
        channels: Mapping[str, Channel],
        composer: Composer,
        reconnects: ChannelReconnects,
        *,
        random: Random,
        language_of: Callable[[str], str],
    ) -> None:
        self._ledger = ledger
        self._channels = channels
        self._composer = composer
        self._reconnects = reconnects
        self._backoff = Backoff(first=1.0, ceiling=LONGEST_PAUSE_SEC)
        self._random = random
        self._language_of = language_of
        self._send_loops: set[ConversationAddress] = set()
        self._has_all_send_loops = True
        self._is_planning = False
        self._times = AttemptTimes()

    async def run(self) -> None:
        """For ever: plan each new entry, and keep a send loop for every conversation that has entries."""
        async with TaskOwner("delivery", on_crash=self._report_crash) as owner:
            with self._ledger.call_on_change(lambda: self._plan_new(owner)):
                while True:
                    seen = self._ledger.state.seq
                    all_planned = await self._plan_all()
                    for address in self._addresses():
                        self._keep_send_loop(address, owner)
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(None if all_planned else AWAY_SECONDS):
                            await self._until_something_is_new(seen)

    def _keep_send_loop(self, address: ConversationAddress, owner: TaskOwner) -> None:
        if address not in self._send_loops:
            self._send_loops.add(address)
            owner.start(self._send_loop(address), name=address)

    async def _until_something_is_new(self, seen: int) -> None:
        """Returns when an entry has no plan or a send loop crashed."""
        await self._ledger.until_changed(seen, concerns=self._has_news)
        self._has_all_send_loops = True

    def _has_news(self) -> bool:
        """Most changes make no entry, so this is cheap."""
        return not self._has_all_send_loops or any(entry.plan is None for entry in self._state.outbox.values())

    def _report_crash(self, name: str, fault: Exception) -> None:
        self._has_all_send_loops = False
        log_failure("a send loop crashed; its entries stay", fault, conversation=name)

    # --- planning

    def _plan_new(self, owner: TaskOwner) -> None:
        """In the very step that makes an entry, so that its plan shares the sync of the fact that made it. An entry
        whose text is on disk is left to `run`, and so is every later one: a conversation gets its answers in order."""
        if self._is_planning:
            return  # a plan, applied below, is a change of the state and calls this again
        self._is_planning = True
        try:
            for entry in self._newest_unplanned():
                if not self._plan_at_once(entry):
                    return
                if entry.plan is not None and entry.plan.pieces and entry.plan.destination is not None:
                    self._keep_send_loop(entry.plan.destination.address, owner)
        finally:
            self._is_planning = False

    def _newest_unplanned(self) -> list[OutboxEntry]:
        """Oldest first. Entries before a planned one wait for their channel: `run` looks at them."""
        unplanned = itertools.takewhile(lambda entry: entry.plan is None, reversed(self._state.outbox.values()))
        return list(unplanned)[::-1]

    def _plan_at_once(self, entry: OutboxEntry) -> bool:
        """False if this is left to `run`."""
        to = self._destination(entry)
        channel = self._channels.get(to.conversation.channel) if to.conversation is not None else None
        if channel is None or to.mode in _WARNED_ABOUT or self._composer.needs_disk(entry):
            return False
        reports = self._list_undelivered(to)
        can = channel.capabilities
        try:
            pieces = result_without_waiting(self._compose(entry, can, to, reports)) if can.push else ()
        except Exception:  # whatever it is, `run` composes the entry once more, meets the fault and reports it
            return False
        if pieces is None:
            return False
        self._apply_plan(PlanDelivery(entry.entry_id, to, pieces, reports if pieces else ()))
        return True

    def _compose(
        self, entry: OutboxEntry, can: ChannelCapabilities, to: Destination, reports: tuple[JobId, ...]
    ) -> Coroutine[Any, Any, tuple[Piece, ...]]:
        return self._composer.compose(entry, can, reports, is_bound=to.mode == "bound")

    def _apply_plan(self, plan: PlanDelivery) -> None:
        if plan.pieces:
            self._times.begin(plan.entry_id)
        self._ledger.apply_now(plan)

    async def _plan_all(self) -> bool:
        """False if an entry could not be planned because its text could not be read: planning is tried again."""
        all_planned = True
        for entry in [entry for entry in self._state.outbox.values() if entry.plan is None]:
            if entry.requester.channel in self._channels:
                all_planned = await self._plan(entry) and all_planned
        return all_planned

    async def _plan(self, entry: OutboxEntry) -> bool:
        to = self._destination(entry)
        channel = self._channels.get(to.conversation.channel) if to.conversation is not None else None
        if to.conversation is not None and channel is None:
            return True  # that channel is off for now: the entry waits for it
        if to.mode in _WARNED_ABOUT:
            log.warning("delivery without a binding", entry_id=entry.entry_id, mode=to.mode, reason=to.reason)
        can = channel.capabilities if channel is not None else None
        reports = self._list_undelivered(to)
        try:
            pieces = await self._compose(entry, can, to, reports) if can is not None and can.push else ()
        except Exception as fault:  # one answer that cannot be put into words must not hold up all others
            log_failure("delivery not planned; it is tried again", fault, entry_id=entry.entry_id)
            return False
        self._apply_plan(PlanDelivery(entry.entry_id, to, pieces, reports if pieces else ()))
        await self._ledger.until_all_durable()
        return True

    def _list_undelivered(self, to: Destination) -> tuple[JobId, ...]:
        """The jobs whose answers were given up there: the next delivery says so."""
        return tuple(self._state.undelivered.get(to.conversation.address, ())) if to.conversation is not None else ()

    def _destination(self, entry: OutboxEntry) -> Destination:
        if entry.opening is not None or entry.kind in {"reminder", "link"}:
            return requester_destination(entry.requester)
        return resolve_destination(
            self._state,
            target_session_key=entry.session_key,
            requester=entry.requester,
            fail_closed=entry.fail_closed,
            now=self._ledger.now(),
        )

    # --- sending

    @property
    def _state(self) -> State:
        return self._ledger.state

    def _addresses(self) -> list[ConversationAddress]:
        plans = (entry.plan for entry in self._state.outbox.values() if entry.plan is not None)
        destinations = (plan.destination for plan in plans if plan.pieces and plan.destination is not None)
        # A channel that is off now was on when this was planned: the entry waits until it is on again.
        return list(
            dict.fromkeys(destination.address for destination in destinations if destination.channel in self._channels)
        )

    def _next_entry(self, address: ConversationAddress) -> OutboxEntry | None:
        for entry in self._state.outbox.values():
            plan = entry.plan
            if plan is not None and plan.pieces and plan.destination and plan.destination.address == address:
                return entry
        return None

    async def _send_loop(self, address: ConversationAddress) -> None:
        """Send this conversation's entries in order until none is left; one that must wait holds the later ones."""
        channel = address.partition("/")[0]
        seen = self._reconnects.count(channel)
        try:
            while (entry := self._next_entry(address)) is not None:
                await self._ledger.until_all_durable()
                await self._wait_until_due(entry, channel, seen)
                # Counted before the attempt, so that a channel which comes back while the attempt fails is noticed.
                seen = self._reconnects.count(channel)
                if not await self._send_next(entry):
                    await self._wait_while_away(entry, channel, seen)
                if entry.entry_id not in self._state.outbox:
                    self._times.forget(entry.entry_id)
        finally:
            self._send_loops.discard(address)

    async def _wait_until_due(self, entry: OutboxEntry, channel: str, seen: int) -> None:
        wait = self._times.seconds_until_due(entry, self._ledger.now())
        if wait <= 0:
            return
        if entry.must_wait:
            await asyncio.sleep(wait)  # the channel named this time, and a reconnect does not shorten it
        else:
            await self._reconnects.wait_for(channel, wait, since=seen)

    async def _send_next(self, entry: OutboxEntry) -> bool:
        """False if the channel is away, and nothing was tried."""
        if self._is_moot(entry):
            await self._ledger.record_durably(
                AbandonDelivery(entry.entry_id, Code.E_QUESTION_CLOSED, "settled before it could be asked")
            )
            return True
        outgoing = self._outgoing_message(entry)
        channel = self._channels[outgoing.destination.channel]
        try:
            message_id = await self._send_once(channel, outgoing, entry)
        except ChannelAway:
            return False
        except OutcomeUnknown:
            await self._defer(entry, DeliveryLater(Code.E_UNDELIVERABLE))
        except DeliveryLater as later:
            await self._defer(entry, later)
        except DeliveryImpossible as never:
            if isinstance(never, DeliveryForbidden) and entry.kind in _WAITED_FOR:
                await self._defer(entry, DeliveryLater(never.code))
            else:
                log.error("undeliverable", entry_id=entry.entry_id, error_code=never.code, message=never.reason)
                await self._ledger.record_durably(AbandonDelivery(entry.entry_id, never.code, never.reason))
        except Exception as fault:  # whatever a channel does, its entries are tried again, and only its own
            log_failure("delivery failed", fault, entry_id=entry.entry_id)
            code = fault.code if isinstance(fault, FairleadError) else Code.E_INTERNAL
            await self._defer(entry, DeliveryLater(code))
        else:
            self._times.begin(entry.entry_id)  # no other process has tried the pieces behind this one
            await self._ledger.record_durably(MarkPieceSent(entry.entry_id, outgoing.index, MessageId(message_id)))
        return True

    async def _wait_while_away(self, entry: OutboxEntry, channel: str, seen: int) -> None:
        """A channel may be away for days: the journal gets a line about it once an hour, not at every try."""
        since_noted = self._times.seconds_since_noted_away(entry.entry_id)
        if since_noted is None or since_noted >= AWAY_NOTED_SECONDS:
            self._times.note_away(entry.entry_id)
            await self._record_deferral(
                entry, DeferDelivery(entry_id=entry.entry_id, wait_sec=AWAY_SECONDS, counts=False)
            )
        else:
            await self._reconnects.wait_for(channel, AWAY_SECONDS, since=seen)

    def _is_moot(self, entry: OutboxEntry) -> bool:
        is_about_question = entry.kind in {"question", "reminder"}
        return is_about_question and not self._state.takes_response(entry.question_id) and not entry.paid

    async def _send_once(self, channel: Channel, outgoing: OutgoingMessage, entry: OutboxEntry) -> str:
        """A piece that may have gone out more than a minute ago, or before a crash, is looked for first."""
        age = self._times.seconds_since_begin(entry.entry_id)
        if age is None or age > LOOK_AFTER_SECONDS:
            found = await channel.find(outgoing)
            if found is not None:
                return found
        return await channel.send(outgoing)

    async def _defer(self, entry: OutboxEntry, later: DeliveryLater) -> None:
        wait = self._backoff.delay(entry.attempts + 1, self._random.random)
        if later.wait_sec > 0:
            # A little more than the channel asked for, so that not all entries are sent at one moment.
            wait = max(wait, later.wait_sec + self._random.random())
        log.warning(
            "delivery deferred", entry_id=entry.entry_id, error_code=later.code, attempts=entry.attempts + 1, wait=wait
        )
        await self._record_deferral(
            entry, DeferDelivery(entry_id=entry.entry_id, wait_sec=wait, code=later.code, must_wait=later.must_wait)
        )

    async def _record_deferral(self, entry: OutboxEntry, command: DeferDelivery) -> None:
        decision = self._ledger.apply_now(command)
        if decision.events:
            self._times.defer(entry, command.wait_sec)
            await self._ledger.until_all_durable()

    def _outgoing_message(self, entry: OutboxEntry) -> OutgoingMessage:
        assert entry.plan is not None
        assert entry.plan.destination is not None
        index = entry.next_index
        piece = entry.plan.pieces[index]
        job = self._state.jobs.get(entry.job_id)
        question = self._state.questions.get(piece.question_id)
        return OutgoingMessage(
            entry_id=entry.entry_id,
            index=index,
            nonce=nonce_of(self._state.state_id, entry.entry_id, index),
            destination=entry.plan.destination,
            text=piece.text,
            job_id=entry.job_id,
            session_key=entry.session_key,
            language=self._language_of(job.person if job is not None else ""),
            files=piece.files,
            question=None if question is None else question_view(self._state, question),
            after_message_id=_last_known(self._state, entry, entry.plan.destination.address, job),
            reply_to=_answered_message(entry, job),
            thread_name=piece.thread,
            thread_from=entry.paid.get(str(index - 1), "") if piece.thread else "",
            mentions=piece.mentions,
            retries=piece.retries,
            card=piece.card,
            reminds_of=entry.question_id if entry.kind == "reminder" else "",
        )


def _last_known(state: State, entry: OutboxEntry, address: ConversationAddress, job: Job | None) -> str:
    """The newest message that is certainly older than any earlier attempt at this entry: the search begins after it.

    The person's own message may be too old: the answer to an earlier message, with the same words, may stand after it.
    The opening messages of two threads have the same words too, so such a search begins after the command itself."""
    last = state.last_posts.get(address, MessageId(""))
    if entry.opening is not None:
        return max(last, entry.opening.asked_by, key=lambda m: int(m) if is_rising(m) else -1)
    return last or (job.message_id if job is not None else "")


def _answered_message(entry: OutboxEntry, job: Job | None) -> str:
    """The message that an answer's first piece belongs under, where it goes back to the conversation it came from."""
    assert entry.plan is not None
    is_first = entry.kind == "answer" and entry.next_index == 0
    there = entry.plan.destination is not None and job is not None and entry.plan.destination == job.conversation
    written = written_message(job.message_id) if job is not None and is_first and there else None
    return written or ""
