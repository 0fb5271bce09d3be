"""The judge is judged: each of these bugs is put into Fairlead on purpose, and must be caught, for the right reason.

A bug replaces one small part; the product has no switch for it.
"""

import asyncio
from collections.abc import Callable
from itertools import count

import msgspec
import pytest

from fairlead.channels.push.job_marks import JobMarks
from fairlead.channels.push.marks import MARK_OF_STATE
from fairlead.core import decide as deciding
from fairlead.core import fold, read_models, retention, timestamps
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide import decide, delivery, job_ends, scheduling
from fairlead.core.decide.decision import Decision
from fairlead.core.engine import TurnEnded
from fairlead.core.events import DeliveryOwed, JobMarkedUnknownAfterCrash, JobRequeued, JobStarted
from fairlead.core.fold import apply
from fairlead.core.ids import MessageId
from fairlead.core.message_ids import OfRetry, parse_message_id
from fairlead.core.message_outcomes import MessageOutcome
from fairlead.core.state import State
from fairlead.flow import assembly
from fairlead.flow.agent_runtimes import AgentRuntimes
from fairlead.flow.commands import agent_start
from fairlead.flow.commands.thread_start import ThreadStart
from fairlead.flow.ledger import Ledger
from fairlead.flow.outbox import attempt_times, outbox
from fairlead.flow.outbox.attempt_times import AttemptTimes
from fairlead.flow.outbox.outbox import Outbox
from fairlead.flow.queries import view
from fairlead.flow.queries.view import FlowView
from fairlead.flow.startup import recovery, sequence, steps
from fairlead.flow.turns.agent_turns import AgentStream
from fairlead.flow.turns.scheduler import Scheduler
from fairlead.flow.turns.turn import Turn
from fairlead.kit.files import replace_durably, write_all
from fairlead.kit.tasks import PausableTimeout, TaskOwner
from fairlead.ports import DeliveryLater
from fairlead.store import history, journal, journal_check, restoration, snapshot, unsynced_tail
from fairlead.store.journal import FileJournal
from fairlead.store.reader import Position
from fairlead.store.writer import AppendFile, DiskFull
from fairlead.testing.agent_people import everybody_and_agents
from fairlead.testing.chat import SimulatedChat
from fairlead.testing.hard_times import (
    everybody_and_a_speaker,
    everybody_during_a_ban,
    everybody_in_rough_weather,
    everybody_where_much_is_deleted,
    everybody_while_the_clock_jumps,
    impatient_people,
)
from fairlead.testing.mishaps import ClockSetter
from fairlead.testing.months import over_months
from fairlead.testing.people import everybody
from fairlead.testing.simulated_machine import SimulatedMachine
from fairlead.testing.simulator import simulate
from fairlead.testing.wall_clock import DAY
from fairlead.testing.world import Actor, ActorMaker, World
from tests.simulator.harness import HastyLedger

MOST_SEEDS = 200

Bug = Callable[[pytest.MonkeyPatch], None]
BUGS: dict[str, tuple[Bug, str, ActorMaker]] = {}


def caught_by(words: str, *, actors: ActorMaker = everybody) -> Callable[[Bug], Bug]:
    def register(bug: Bug) -> Bug:
        BUGS[bug.__name__] = (bug, words, actors)
        return bug

    return register


# --- the hand-over to the agent ---------------------------------------------------------------------------------------


@caught_by("times")
def hand_the_prompt_over_and_write_it_down_afterwards(patch):
    async def hand_over(self, _machine_time=""):
        await self._ledger.until_durable(self._started_seq)
        asyncio.get_running_loop().call_later(1, self._ledger.apply_now, scheduling.HandOver(self.job.job_id))

    patch.setattr(Turn, "_hand_over", hand_over)


@caught_by("the journal does not know that it was handed over | times")
def give_an_agent_that_waits_its_prompt_before_the_hand_over_is_durable(patch):
    hand_over = Turn._hand_over

    async def hasty(self, *told):
        if self.job.awaits_hand_over:
            await hand_over(self, *told)

    patch.setattr(Turn, "_hand_over", hasty)


@caught_by("is called unknown, and its agent never had the prompt")
def call_every_interrupted_job_unknown(patch):
    def mark(state, command, now, limits):
        events = []
        for event in right(state, command, now, limits).events:
            if isinstance(event, JobRequeued):
                unknown = JobMarkedUnknownAfterCrash(event.job_id, event.session_key)
                events += [unknown, *job_ends.answer_delivery(state, state.jobs[event.job_id], unknown)]
            else:
                events.append(event)
        return Decision(tuple(events))

    right = deciding._DECIDERS[job_ends.MarkInterrupted]
    patch.setitem(deciding._DECIDERS, job_ends.MarkInterrupted, mark)


@caught_by("times")
def run_every_interrupted_job_again(patch):
    def mark(state, command, now, limits):
        again = tuple(JobRequeued(job_id, state.jobs[job_id].session_key) for job_id in state.running)
        decided = right(state, command, now, limits).events
        rest = tuple(event for event in decided if event.job_id in state.waiting)
        return Decision((*again, *rest))

    right = deciding._DECIDERS[job_ends.MarkInterrupted]
    patch.setitem(deciding._DECIDERS, job_ends.MarkInterrupted, mark)


@caught_by("was posted before what it is about was durable")
def post_an_answer_before_its_end_is_durable(patch):
    right = Outbox.__init__

    def hasty(self, ledger, *given, **more):
        right(self, HastyLedger(ledger, "until_all_durable"), *given, **more)

    patch.setattr(Outbox, "__init__", hasty)


# --- the store -----------------------------------------------------------------------------------------------------


@caught_by("before it was durable")
def skip_the_fsync(patch):
    def sync(self):
        self.durable_offset = self._disk.size(self._handle)

    patch.setattr(AppendFile, "sync", sync)


@caught_by("does not pass")
def leave_the_torn_tail(patch):
    def keep(path, disk, end, reports):
        pass

    patch.setattr(journal, "_cut_unfinished", keep)


@caught_by("lines that the journal lost")
def let_a_snapshot_run_ahead_of_the_journal(patch):
    async def snapshot_at_once(self, state):
        data = snapshot.encode_snapshot(state, self._position, self._last_line)
        snapshot.write_snapshot(self._snapshot_path, data, self._disk)

    patch.setattr(FileJournal, "snapshot", snapshot_at_once)


@caught_by("had lost lines which its snapshot covers")
def take_a_journal_that_lost_lines_for_the_truth(patch):
    def chain(cover, path, disk):
        try:
            return right(cover, path, disk)
        except snapshot.JournalFellBehind:
            raise snapshot.SnapshotUnusable("it covers more than the journal has") from None

    right = snapshot._chain_after_cover
    patch.setattr(snapshot, "_chain_after_cover", chain)


@caught_by("the journal does not pass")
def take_pages_out_of_order_for_rot(patch):
    patch.setattr(journal, "find_unsynced_tail", lambda *given: None)


@caught_by("nobody noticed the flipped bit")
def cut_whatever_is_damaged(patch):
    patch.setattr(unsynced_tail, "_has_lost_page", lambda *given: True)
    patch.setattr(unsynced_tail, "_is_called_durable", lambda *given: False)


@caught_by("nobody noticed the flipped bit")
def check_nothing_that_the_snapshot_covers(patch):
    patch.setattr(journal_check, "check_some", lambda disk, path, before, end: Position(end))


@caught_by("was read back as if it were whole")
def read_back_what_does_not_fit_its_checksum(patch):
    patch.setattr(history, "check_chain", lambda buffer, length, before: before.chain)


@caught_by("files were changed")
def set_the_proof_of_the_loss_aside(patch):
    def forget_the_proof(directory, disk, end, loss):
        disk.replace(directory / journal.SNAPSHOT_NAME, directory / "snapshot.json.set-aside")
        return right(directory, disk, end, loss)

    right = journal.explain_loss
    patch.setattr(journal, "explain_loss", forget_the_proof)


@caught_by("was no way out")
def leave_the_proof_of_the_loss_when_restoring(patch):
    def carry_out(plan, directory, disk, stamp):
        proof = disk.read(directory / journal.SNAPSHOT_NAME)
        kept = right(plan, directory, disk, stamp)
        replace_durably(directory / journal.SNAPSHOT_NAME, proof, disk=disk)
        return kept

    right = restoration.carry_out
    patch.setattr(restoration, "carry_out", carry_out)


@caught_by("did not keep the old files")
def restore_over_the_old_files(patch):
    def carry_out(plan, directory, disk, stamp):
        for kept in right(plan, directory, disk, stamp):
            disk.remove_tree(kept)
        return []

    right = restoration.carry_out
    patch.setattr(restoration, "carry_out", carry_out)


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


@caught_by("a channel was connected without the lock")
def connect_before_the_lock(patch):
    def connect_and_lock(boot, stack):
        boot.connect(stack)
        stack.enter_context(boot.lock())

    patch.setattr(sequence, "take_lock", connect_and_lock)
    patch.setattr(sequence, "connect_channels", lambda boot, stack: None)


@caught_by("read what it was sent before the workers ran")
def read_what_is_sent_as_soon_as_the_channels_are_made(patch):
    async def run_them_first(machine, flow, stack):
        owner = await own_workers(machine, flow, stack)
        owner.start(machine.chat.run(), name="chat")
        await asyncio.sleep(0)
        return owner

    own_workers = steps.own_workers
    patch.setattr(steps, "own_workers", run_them_first)
    patch.setattr(steps, "run_channels", lambda channels, owner: None)


@caught_by("was said, and never taken", actors=everybody_and_a_speaker)
def drop_what_is_sent_during_the_start(patch):
    def run_without_frames(self):
        self._frames.clear()
        return run(self)

    run = SimulatedChat.run
    patch.setattr(SimulatedChat, "run", run_without_frames)


@caught_by("of an earlier life were still there")
def do_not_end_left_over_agents(patch):
    patch.setattr(steps, "end_left_over_agents", lambda machine, ledger: [])


@caught_by("which was added by hand, was not taken over")
def overwrite_hand_edits(patch):
    async def ignore(config, ledger, edits):
        pass

    patch.setattr(steps, "take_over_hand_edits", ignore)


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

    patch.setattr(steps, "mark_interrupted_jobs", later)
    patch.setattr(SimulatedMachine, "serve", serve)
    patch.setattr(SimulatedMachine, "make_channels", remember_flow)


@caught_by("jobs of its own life had begun | would be right")
def note_left_over_statuses_when_jobs_run(patch):
    def remember(channels):
        patch.setattr(SimulatedMachine, "serve", lambda self, stack: prepare_late(channels))

    async def prepare_late(channels):
        await asyncio.sleep(30)
        for channel in channels:
            channel.prepare()

    patch.setattr(steps, "note_left_over_statuses", remember)


@caught_by("before its message was looked at once more")
def start_what_was_left_queued_at_once(patch):
    patch.setattr(steps, "hold_queues", lambda flow: None)


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


@caught_by("the daemon fell: IndexError")  # watchers are told of a fact that the state has not taken yet
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
            self.wake()
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
    def anybody(state, _held, _today, _closed):
        return next((state.sessions[key] for key in state.ready), None)

    patch.setattr(scheduling, "_longest_unserved", anybody)


@caught_by("was invoked 2 times")
def run_again_what_a_crash_interrupted(patch):
    async def mark_nothing(ledger):
        return []

    async def run(self):
        async with TaskOwner("turns") as owner:
            for job_id in (*self._ledger.state.running, *self._ledger.state.waiting):
                self._begin(job_id, owner)
            with self._ledger.call_on_change(lambda: self._start_all(owner)):
                self._start_all(owner)
                await asyncio.get_running_loop().create_future()

    patch.setattr(recovery, "mark_interrupted", mark_nothing)
    patch.setattr(steps, "note_left_over_statuses", lambda channels: None)  # which would notice at once
    patch.setattr(Scheduler, "run", run)


@caught_by(
    "the journal does not know that it began | the journal does not know that it was handed over | times",
    actors=everybody_and_agents,
)
def begin_before_the_start_is_durable(patch):
    async def at_once(self, *_told):
        self._ledger.apply_now(scheduling.HandOver(self.job.job_id))

    patch.setattr(Turn, "_hand_over", at_once)
    patch.setattr(Turn, "_until_agent_may_start", at_once)


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


@caught_by("was marked as done when 0 of")
def record_as_delivered_before_sending(patch):
    sent = Outbox._send_next

    async def hasty(self, entry):
        outgoing = self._outgoing_message(entry)
        await self._ledger.record_durably(outbox.MarkPieceSent(entry.entry_id, outgoing.index, "1"))
        await self._channels[outgoing.destination.channel].send(outgoing)

    assert sent
    patch.setattr(Outbox, "_send_next", hasty)


@caught_by("twice or out of order", actors=everybody_in_rough_weather)
def make_up_a_new_nonce_for_every_attempt(patch):
    attempts = count()
    patch.setattr(outbox, "nonce_of", lambda *_: f"{next(attempts)}")


@caught_by("twice or out of order", actors=everybody_in_rough_weather)
def never_look_before_sending_again(patch):
    patch.setattr(outbox, "LOOK_AFTER_SECONDS", float("inf"))


@caught_by("pieces, and", actors=everybody_in_rough_weather)
def look_only_after_the_question(patch):
    outgoing_of = Outbox._outgoing_message

    def outgoing(self, entry):
        job = self._state.jobs.get(entry.job_id)
        before = entry.paid.get(str(entry.next_index - 1), job.message_id if job is not None else "")
        return msgspec.structs.replace(outgoing_of(self, entry), after_message_id=before)

    patch.setattr(Outbox, "_outgoing_message", outgoing)


@caught_by("patience lasts longer", actors=everybody_while_the_clock_jumps)
def give_up_after_eight_attempts(patch):
    def impatient(right, state, command, now, limits):
        attempts = state.outbox[command.entry_id].attempts if command.entry_id in state.outbox else 0
        patience = -99 if attempts >= 7 else limits.delivery_patience_days
        return right(state, command, now, msgspec.structs.replace(limits, delivery_patience_days=patience))

    instead(patch, delivery.DeferDelivery, impatient)


@caught_by("patience lasts longer")
def give_up_where_a_right_is_missing(patch):
    class NeverRaisedError(Exception):
        pass

    patch.setattr(outbox, "DeliveryForbidden", NeverRaisedError)


@caught_by("before the time that the channel had named", actors=everybody_during_a_ban)
def forget_a_ban_with_the_process(patch):
    right = AttemptTimes.seconds_until_due

    def of_this_process(self, entry, now):
        return right(self, entry, now) if entry.entry_id in self._due else 0.0

    patch.setattr(AttemptTimes, "seconds_until_due", of_this_process)


@caught_by("before the time that the channel had named", actors=everybody_during_a_ban)
def ignore_the_time_that_a_ban_lasts(patch):
    defer = Outbox._defer
    patch.setattr(Outbox, "_defer", lambda self, entry, later: defer(self, entry, DeliveryLater(later.code, 5.0)))


# --- the clock -----------------------------------------------------------------------------------------------------


@caught_by("patience lasts longer", actors=everybody_while_the_clock_jumps)
def measure_patience_by_the_wall_clock(patch):
    def by_dates(right, state, command, now, limits):
        entry = state.outbox.get(command.entry_id)
        is_old = entry is not None and timestamps.seconds_between(entry.owed_at, now) > 7 * DAY
        return right(state, command, now, msgspec.structs.replace(limits, delivery_patience_days=-99 if is_old else 7))

    instead(patch, delivery.DeferDelivery, by_dates)


def everybody_in_rough_weather_while_the_clock_jumps(world: World) -> list[Actor]:
    return [*everybody_in_rough_weather(world), ClockSetter(world, jumps=8, pause=60.0)]


@caught_by(
    "twice or out of order | before the time that the channel had named | still not quiet",
    actors=everybody_in_rough_weather_while_the_clock_jumps,
)
def measure_pauses_by_the_wall_clock(patch):
    offset = [0.0]
    jump = World.jump_clock

    def jump_for_all(self, seconds):
        offset[0] += seconds
        jump(self, seconds)

    patch.setattr(World, "jump_clock", jump_for_all)
    patch.setattr(attempt_times, "_loop_time", lambda: asyncio.get_running_loop().time() + offset[0])


def also_when_the_day_changes(patch, also) -> None:
    right = fold.change_day

    def change_day(state, ts):
        right(state, ts)
        also(state, ts)

    patch.setattr(fold, "change_day", change_day)


@caught_by("was never fetched, and is gone", actors=over_months)
def forget_unfetched_answers_by_their_dates(patch):
    def forget(state, ts):
        for entry in list(state.outbox.values()):
            if entry.awaits_fetching and timestamps.seconds_between(entry.owed_at, ts) > 7 * DAY:
                retention.remove_entry(state, entry)

    also_when_the_day_changes(patch, forget)


@caught_by("was taken 2 times", actors=over_months)
def forget_keys_by_their_dates(patch):
    last = [""]

    def forget(state, ts):
        if last[0] and timestamps.seconds_between(last[0], ts) > 14 * DAY:
            state.outcomes_by_day.clear()
        last[0] = ts

    also_when_the_day_changes(patch, forget)


@caught_by("retention stopped", actors=over_months)
def let_a_date_far_ahead_be_today_for_good(patch):
    right = fold.change_day

    def change_day(state, ts):
        if ts >= state.next_day:
            right(state, ts)

    patch.setattr(fold, "change_day", change_day)


# --- marks, and what was said while nobody listened ----------------------------------------------------------------


@caught_by("was marked as done when")
def mark_by_the_jobs_state_alone(patch):
    def show(self, job, state, may_stand=()):
        if state in MARK_OF_STATE:
            self._want(job, MARK_OF_STATE[state])

    patch.setattr(JobMarks, "_show", show)


@caught_by("would be right")
def leave_out_the_marks_that_a_kill_cut_off(patch):
    patch.setattr(JobMarks, "note_ends", lambda self: None)


@caught_by("would be right", actors=impatient_people)
def leave_out_the_marks_of_refusals_that_a_kill_cut_off(patch):
    patch.setattr(FlowView, "refused_lately", lambda self, channel, *, most: [])


@caught_by("and the mark ❌ would be right", actors=everybody_where_much_is_deleted)
def call_an_answer_done_that_was_given_up(patch):
    right = read_models.job_view

    def all_delivered(*given, **more):
        return msgspec.structs.replace(right(*given, **more), answer_given_up=False)

    patch.setattr(view, "job_view", all_delivered)


@caught_by("which was missed, was refused", actors=everybody_and_a_speaker)
def say_that_there_is_always_room(patch):
    patch.setattr(FlowView, "has_room", lambda self, conversation, session_key: True)


@caught_by("was said, and never taken", actors=everybody_and_a_speaker)
def read_on_behind_the_last_answer(patch):
    def last_post(self, conversation):
        return int(self._state.last_posts.get(conversation.address, "0"))

    patch.setattr(FlowView, "last_message_seen", last_post)


# --- agents that outlive a turn ------------------------------------------------------------------------------------


@caught_by("belongs to nobody", actors=everybody_and_agents)
def leave_a_started_agent_behind_when_its_thread_fails(patch):
    async def stay(self):
        pass

    patch.setattr(agent_start.PreparedAgent, "end", stay)


@caught_by("belongs to nobody", actors=everybody_and_agents)
def forget_to_give_the_started_agent_to_its_session(patch):
    def forget(self, session):
        self.is_adopted = True

    patch.setattr(agent_start.PreparedAgent, "serve", forget)


@caught_by("a thread was made for it", actors=everybody_and_agents)
def make_the_thread_before_the_agent(patch):
    start = ThreadStart.start

    async def thread_first(self, request, caller):
        await self._start_thread(request, caller, request.tool or None)
        return await start(self, request, caller)

    patch.setattr(ThreadStart, "start", thread_first)


@caught_by("of an earlier life were still there", actors=everybody_and_agents)
def start_an_agent_without_the_mark_of_the_state(patch):
    right = agent_start.AgentPreparation
    patch.setattr(agent_start, "AgentPreparation", lambda **given: right(**(given | {"mark": given["ticket"]})))


@caught_by("was closed while it ran", actors=everybody_and_agents)
def close_a_replaced_runtime_in_the_middle_of_its_turns(patch):
    patch.setattr(AgentRuntimes, "_jobs_of", lambda self, runtime: ())


@caught_by("has no time limit, and one ended it", actors=everybody_and_agents)
def limit_every_turn(patch):
    class Limited(Turn):
        def __init__(self, *given, settings, **more):
            super().__init__(*given, settings=settings, **more)
            self._timer = PausableTimeout(settings.time_limit_sec)

    patch.setattr(assembly, "Turn", Limited)


@caught_by("still not quiet", actors=everybody_and_agents)
def forget_what_agents_begin_by_themselves(patch):
    put = AgentStream.put

    def lose_the_end(self, event):
        if not isinstance(event, TurnEnded):
            put(self, event)

    patch.setattr(AgentStream, "put", lose_the_end)
    patch.setattr(World, "longest_life", 86400.0)


@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_caught(name, monkeypatch):
    bug, words, actors = BUGS[name]
    bug(monkeypatch)
    for seed in range(MOST_SEEDS):
        report = simulate(seed, actors=actors)
        # What else goes wrong in a world is no matter: a patch may break more than the rule that it is about.
        if any(each in v for v in report.violations for each in words.split(" | ")):
            print(f"{name} was caught in world {seed + 1}")
            return
    pytest.fail(f"{name} went unnoticed in {MOST_SEEDS} worlds")
