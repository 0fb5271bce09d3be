"""The judge is judged: each of these bugs is put into the house on purpose, and must be caught, for the right reason.

A bug replaces one small part; the product has no switch for it.
"""

import asyncio
from collections.abc import Callable
from itertools import count

import msgspec
import pytest

from fairlead.core import decide as deciding
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide import decide, job_ends, scheduling
from fairlead.core.decide.decision import Decision
from fairlead.core.events import DeliveryOwed, JobStarted
from fairlead.core.fold import apply
from fairlead.core.ids import MessageId
from fairlead.core.message_ids import OfRetry, parse_message_id
from fairlead.core.message_outcomes import MessageOutcome
from fairlead.core.state import State
from fairlead.flow.ledger import Ledger
from fairlead.flow.outbox import outbox
from fairlead.flow.outbox.outbox import Outbox
from fairlead.flow.startup import recovery, sequence
from fairlead.flow.turns.scheduler import Scheduler
from fairlead.kit.files import write_all
from fairlead.kit.tasks import TaskOwner
from fairlead.store import history, journal, snapshot
from fairlead.store.journal import FileJournal
from fairlead.store.reader import find_finished_end
from fairlead.store.writer import AppendFile, DiskFull
from fairlead.testing.simulated_machine import SimulatedMachine
from fairlead.testing.simulator import simulate

MOST_SEEDS = 200

Bug = Callable[[pytest.MonkeyPatch], None]
BUGS: dict[str, tuple[Bug, str]] = {}


def caught_by(words: str) -> Callable[[Bug], Bug]:
    def register(bug: Bug) -> Bug:
        BUGS[bug.__name__] = (bug, words)
        return bug

    return register


# --- the store -----------------------------------------------------------------------------------------------------


@caught_by("before it was durable")
def skip_the_fsync(patch):
    def sync(self):
        self.durable_offset = self._disk.size(self._handle)

    patch.setattr(AppendFile, "sync", sync)


@caught_by("does not pass")
def leave_the_torn_tail(patch):
    def keep(path, disk, reports):
        return find_finished_end(disk, path, len(disk.read(path))) if disk.exists(path) else 0

    patch.setattr(journal, "_cut_unfinished", keep)


@caught_by("lines that the journal lost")
def let_a_snapshot_run_ahead_of_the_journal(patch):
    async def snapshot_at_once(self, state):
        data = snapshot.encode_snapshot(state, self._position, self._last_line)
        snapshot.write_snapshot(self._snapshot_path, data, self._disk)

    patch.setattr(FileJournal, "snapshot", snapshot_at_once)


@caught_by("does not pass")
def leave_half_a_batch_when_the_disk_is_full(patch):
    def write(self, data):
        try:
            write_all(self._handle, data, disk=self._disk)
        except OSError as fault:
            raise DiskFull(str(self.path)) from fault

    patch.setattr(AppendFile, "write", write)


@caught_by("DISAGREES")
def leave_outbox_entries_out_of_the_index(patch):
    named = history.names_in
    patch.setattr(history, "names_in", lambda data: {n for n in named(data) if not n.startswith("debt_")})


# --- the start -----------------------------------------------------------------------------------------------------


@caught_by("without the lock")
def open_the_state_before_the_lock(patch):
    patch.setattr(sequence, "take_lock", lambda machine, stack: None)


@caught_by("of an earlier life were still there")
def do_not_end_left_over_agents(patch):
    patch.setattr(sequence, "end_left_over_agents", lambda machine, ledger: [])


@caught_by("which was added by hand, was not taken over")
def overwrite_hand_edits(patch):
    async def ignore(config, ledger, edits):
        pass

    patch.setattr(sequence, "take_over_hand_edits", ignore)


@caught_by("were still called running")
def mark_interrupted_jobs_when_the_scheduler_runs(patch):
    async def later(ledger):
        return []

    async def serve(self, stack):
        await recovery.mark_interrupted(self._flow.ledger)

    make = SimulatedMachine.make_channels

    def remember_flow(self, flow, adapters):
        self._flow = flow
        return make(self, flow, adapters)

    patch.setattr(sequence, "mark_interrupted_jobs", later)
    patch.setattr(SimulatedMachine, "serve", serve)
    patch.setattr(SimulatedMachine, "make_channels", remember_flow)


@caught_by("jobs of its own life had begun")
def note_left_over_statuses_when_jobs_run(patch):
    def remember(channels):
        patch.setattr(SimulatedMachine, "serve", lambda self, stack: prepare_late(channels))

    async def prepare_late(channels):
        await asyncio.sleep(30)
        for channel in channels:
            channel.prepare()

    patch.setattr(sequence, "note_left_over_statuses", remember)


@caught_by("before its message was looked at once more")
def start_what_was_left_queued_at_once(patch):
    patch.setattr(sequence, "hold_queues", lambda flow: None)


# --- the ledger ----------------------------------------------------------------------------------------------------


@caught_by("before it was durable")
def acknowledge_before_durable(patch):
    async def record(self, command):
        decision = self.apply_now(command)
        await asyncio.sleep(0)
        if decision.refusal is not None:
            raise decision.refusal
        return decision

    patch.setattr(Ledger, "record_durably", record)


@caught_by("was taken 2 times")
def apply_after_the_await(patch):
    async def record(self, command):
        now = self.now()
        decision = decide(self.state, command, now, self.limits)
        if decision.events:
            first = self._journal._position.seq + 1
            self._journal.append(now, first, decision.events)
            await self._journal.until_durable(first + len(decision.events) - 1)
            for index, event in enumerate(decision.events):
                apply(self.state, first + index, now, event)
            self._unannounced.append((self.state.seq, decision.events))
            self._wake()
        if decision.refusal is not None:
            raise decision.refusal
        return decision

    async def no_snapshot(self, state):
        await asyncio.sleep(1)  # the real one would notice that the state lags behind its journal

    patch.setattr(Ledger, "record_durably", record)
    patch.setattr(FileJournal, "snapshot", no_snapshot)


@caught_by("was taken 2 times")
def forget_the_dedupe_key(patch):
    patch.setattr(State, "outcome_of", lambda self, at, message_id: None)


@caught_by("was taken")
def let_a_job_be_retried_twice(patch):
    remembered = State.outcome_of

    def forgets_retries(self: State, at: ConversationRef, message_id: MessageId) -> MessageOutcome | None:
        return None if isinstance(parse_message_id(message_id), OfRetry) else remembered(self, at, message_id)

    patch.setattr(State, "outcome_of", forgets_retries)


# --- jobs ----------------------------------------------------------------------------------------------------------


def instead(patch, command, bug) -> None:
    right = deciding._DECIDERS[command]
    patch.setitem(deciding._DECIDERS, command, lambda *given: bug(right, *given))


@caught_by("nobody owes its answer")
def end_without_a_debt(patch):
    def without_debt(right, *given):
        decision = right(*given)
        return Decision(tuple(e for e in decision.events if not isinstance(e, DeliveryOwed)), job_id=decision.job_id)

    instead(patch, job_ends.EndJob, without_debt)


@caught_by("active turns")
def ignore_the_slots(patch):
    def boundless(right, state, command, now, limits):
        return right(state, command, now, msgspec.structs.replace(limits, global_max_running=99))

    instead(patch, scheduling.StartNext, boundless)


@caught_by("began after")
def last_in_first_out(patch):
    def newest(right, state, *given):
        decision = right(state, *given)
        if decision.events and isinstance(decision.events[0], JobStarted):
            last = state.sessions[decision.events[0].session_key].queue[-1]
            started = msgspec.structs.replace(decision.events[0], job_id=last)
            return Decision((started,), job_id=last)
        return decision

    instead(patch, scheduling.StartNext, newest)


@caught_by("while")
def two_turns_at_once_in_one_session(patch):
    def anybody(state, _held):
        return next((state.sessions[key] for key in state.ready), None)

    patch.setattr(scheduling, "_longest_unserved", anybody)


@caught_by("was invoked 2 times")
def run_again_what_a_crash_interrupted(patch):
    async def mark_nothing(ledger):
        return []

    async def run(self):
        async with TaskOwner("turns") as owner:
            for job_id in self._ledger.state.running:
                self._begin(job_id, owner)
            with self._ledger.call_on_change(lambda: self._start_all(owner)):
                self._start_all(owner)
                await asyncio.get_running_loop().create_future()

    patch.setattr(recovery, "mark_interrupted", mark_nothing)
    patch.setattr(sequence, "note_left_over_statuses", lambda channels: None)  # which would notice at once
    patch.setattr(Scheduler, "run", run)


@caught_by("was invoked 2 times")
def begin_before_the_start_is_durable(patch):
    async def at_once(self, seq):
        pass

    patch.setattr(Ledger, "until_durable", at_once)


# --- delivery ------------------------------------------------------------------------------------------------------


@caught_by("before what it is about was durable")
def deliver_before_recording(patch):
    class Impatient:
        def __init__(self, ledger):
            self._ledger = ledger

        def __getattr__(self, name):
            return getattr(self._ledger, name)

        async def record_durably(self, command):
            return self._ledger.apply_now(command)

        async def until_all_durable(self):
            pass

    furnish = Outbox.__init__
    patch.setattr(Outbox, "__init__", lambda self, ledger, *a, **kw: furnish(self, Impatient(ledger), *a, **kw))


@caught_by("pieces, and")
def record_as_paid_before_sending(patch):
    pay = Outbox._send_next

    async def hasty(self, entry):
        outgoing = self._outgoing_message(entry)
        await self._ledger.record_durably(outbox.MarkPieceSent(entry.entry_id, outgoing.index, "1"))
        await self._channels[outgoing.destination.channel].send(outgoing)

    assert pay
    patch.setattr(Outbox, "_send_next", hasty)


@caught_by("twice or out of order")
def make_up_a_new_nonce_for_every_attempt(patch):
    attempts = count()
    patch.setattr(outbox, "nonce_of", lambda *_: f"{next(attempts)}")


@caught_by("twice or out of order")
def never_look_before_sending_again(patch):
    patch.setattr(outbox, "LOOK_AFTER_SECONDS", float("inf"))


@caught_by("pieces, and")
def look_only_after_the_question(patch):
    outgoing_of = Outbox._outgoing_message

    def outgoing(self, entry):
        job = self._state.jobs.get(entry.job_id)
        before = entry.paid.get(str(entry.next_index - 1), job.message_id if job is not None else "")
        return msgspec.structs.replace(outgoing_of(self, entry), after_message_id=before)

    patch.setattr(Outbox, "_outgoing_message", outgoing)


@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_caught(name, monkeypatch):
    bug, words = BUGS[name]
    bug(monkeypatch)
    for seed in range(MOST_SEEDS):
        report = simulate(seed)
        if report.violations:
            assert any(words in v for v in report.violations), str(report)
            return
    pytest.fail(f"{name} went unnoticed in {MOST_SEEDS} worlds")
