"""What must be true after any simulation, read from the journal and from what people and agents saw.

Judges by its own, simpler rules: it knows the events, but folds nothing to find out who was promised what.
"""

from collections import defaultdict
from random import Random

import msgspec

from fairlead.core import events as e
from fairlead.core.fold import apply
from fairlead.core.ids import ConversationAddress, EntryId, MessageId
from fairlead.core.machines.places import machine_of
from fairlead.core.state import State
from fairlead.errors import Code, FairleadError
from fairlead.kit.files import read_if_there
from fairlead.store import lines
from fairlead.store.history import find_named_lines, read_lines_about
from fairlead.store.journal import SNAPSHOT_NAME, open_state
from fairlead.store.name_index import Unindexable, names_in
from fairlead.store.reader import find_finished_end
from fairlead.store.verification import Verdict, verify
from fairlead.testing.call_invariants import judge_calls
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.mark_invariants import judge_marks, judge_said
from fairlead.testing.outside_invariants import judge_outside
from fairlead.testing.schedule_invariants import judge_schedules
from fairlead.testing.spawn_invariants import judge_spawns
from fairlead.testing.steering_invariants import judge_steering
from fairlead.testing.time_invariants import judge_patience, judge_repeats, judge_retention, judge_unfetched
from fairlead.testing.undo_invariants import judge_undos
from fairlead.testing.worktree_invariants import judge_worktrees
from fairlead.testing.world import JOURNAL, STATE, World

_ENDS = (e.JobCompleted, e.JobFailed, e.JobCancelled, e.JobMarkedUnknownAfterCrash, e.JobSteered)


def judge(world: World) -> None:
    """Add what is wrong to the world's violations."""
    world.violations += world.agents.violations
    facts = _facts(world)
    if facts is None:
        return
    _promises_are_kept(world, facts)
    _every_message_has_one_outcome(world, facts)
    _every_job_ends_once_and_owes(world, facts)
    _starts_are_first_in_first_out(world, facts)
    _hand_overs_are_written_down(world, facts)
    _deliveries_are_once_and_in_order(world, facts)
    judge_patience(world, facts)
    judge_repeats(world, facts)
    judge_marks(world, facts)
    judge_said(world, facts)
    judge_outside(world, facts)
    judge_calls(world, facts)
    judge_spawns(world, facts)
    judge_schedules(world, facts)
    judge_steering(world, facts)
    judge_undos(world, facts)
    judge_worktrees(world, facts)
    _hand_edits_are_taken_over(world, facts)
    _started_agents_belong_to_somebody(world, facts)
    _only_bounded_turns_run_out_of_time(world, facts)
    judge_index(world, world.disk)
    _state_is_the_fold(world, facts)


def _facts(world: World) -> list[lines.JournalLine] | None:
    """Every durable line, if the real judge of journals agrees with all of them."""
    world.clear_up()
    try:
        verdict = verify(STATE, world.disk)
    except FairleadError as broken:
        verdict = Verdict(ok=False, lines=(broken.message,))
    if not verdict.ok:
        world.accuse(f"the journal does not pass: {' '.join(verdict.lines)}")
        return None
    durable = world.disk.durable_bytes(JOURNAL)
    try:
        return [lines.line_decoder().decode(raw) for raw in durable[: durable.rfind(b"\n") + 1].splitlines()]
    except lines.UNREADABLE as torn:
        # Only a world that ended early, and was accused for it, may have a torn tail.
        world.accuse(f"the journal holds bytes that are no line: {torn}")
        return None


def judge_snapshot(world: World, found: SimulatedDisk) -> None:
    """After a crash: a snapshot covers only what was durable, so nothing that it covers can be lost."""
    data = read_if_there(STATE / SNAPSHOT_NAME, disk=found)
    covered = 0 if not data else msgspec.json.decode(data, type=_Cover).seq
    kept = (read_if_there(JOURNAL, disk=found) or b"").count(b"\n")
    if covered > kept:
        world.accuse(f"the snapshot covers {covered - kept} lines that the journal lost")


def judge_index(world: World, found: SimulatedDisk) -> None:
    """After a crash: whatever is left of the index, it finds the lines that the journal has, and no others."""
    try:
        _compare_index(world, found)
    except (Unindexable, FairleadError, *lines.UNREADABLE) as broken:
        world.accuse(f"the journal does not pass: {broken}")


def _compare_index(world: World, found: SimulatedDisk) -> None:
    if not found.exists(JOURNAL):
        return
    found = _without_torn_tail(found)
    # What the next start reads: a tail that was cut, and whose cut was not synced, is still among the durable bytes.
    data = found.read(JOURNAL)
    end = find_finished_end(found, JOURNAL, len(data))
    for name in sorted(names_in(data[: data.rfind(b"\n") + 1])):
        through_index = [line.seq for line in read_lines_about(JOURNAL, [name], found)]
        searched = find_named_lines(found, JOURNAL, frozenset({name}), (), [(0, end)])
        if through_index[: len(searched)] != [line.seq for line in searched]:
            world.accuse(f"the index finds other lines about {name} than the journal has")


def _without_torn_tail(found: SimulatedDisk) -> SimulatedDisk:
    copy = found.crash(Random(0), power_lost=False)
    copy.capacity = None
    try:
        open_state(STATE, copy)
    except FairleadError:
        return found  # the next start will say why
    return copy


class _Cover(msgspec.Struct):
    seq: int


def _promises_are_kept(world: World, facts: list[lines.JournalLine]) -> None:
    enqueued = {
        (f.payload.conversation.address, f.payload.message_id): f.payload.job_id
        for f in facts
        if isinstance(f.payload, e.JobEnqueued)
    }
    refused = {
        (f.payload.conversation.address, f.payload.message_id): f.payload.error_code
        for f in facts
        if isinstance(f.payload, e.MessageRefused)
    }
    for promise in world.promises:
        key = (ConversationAddress(promise.address), MessageId(promise.message_id))
        if promise.job_id and enqueued.get(key) != promise.job_id:
            world.accuse(f"message {promise.message_id} was promised as {promise.job_id}, and is {enqueued.get(key)}")
        if promise.refusal and refused.get(key) != promise.refusal:
            world.accuse(f"message {promise.message_id} was refused, and the journal says {refused.get(key)}")


def _every_message_has_one_outcome(world: World, facts: list[lines.JournalLine]) -> None:
    outcomes: defaultdict[tuple[str, str], int] = defaultdict(int)
    for fact in facts:
        if isinstance(fact.payload, e.JobEnqueued | e.MessageRefused | e.MessageSkipped):
            outcomes[fact.payload.conversation.address, fact.payload.message_id] += 1
    for (address, message_id), count in outcomes.items():
        if count != 1:
            world.accuse(f"{address} message {message_id} was taken {count} times")


def _every_job_ends_once_and_owes(world: World, facts: list[lines.JournalLine]) -> None:
    ends: defaultdict[str, list[int]] = defaultdict(list)
    owed: dict[str, int] = {}
    for fact in facts:
        if isinstance(fact.payload, _ENDS):
            ends[fact.payload.job_id].append(fact.seq)
        if isinstance(fact.payload, e.DeliveryOwed) and fact.payload.kind == "answer":
            owed[fact.payload.job_id] = fact.seq
    for fact in facts:
        if isinstance(fact.payload, e.JobEnqueued) and len(ends[fact.payload.job_id]) != 1:
            world.accuse(f"{fact.payload.job_id} ended {len(ends[fact.payload.job_id])} times")
    steered = {f.payload.job_id for f in facts if isinstance(f.payload, e.JobSteered)}
    for job_id in ends:
        if job_id not in owed and job_id not in steered:
            world.accuse(f"{job_id} ended, and nobody owes its answer")


def _number(job_id: str) -> int:
    return int(job_id.rpartition("_")[2])


def _starts_are_first_in_first_out(world: World, facts: list[lines.JournalLine]) -> None:
    """A job's number says when it was taken. What the agent began by itself asked for no turn, and the resolving of a
    conflict goes before what waits."""
    others = ("agent", "merge")
    own = {f.payload.job_id for f in facts if isinstance(f.payload, e.JobEnqueued) and f.payload.cause in others}
    last: dict[str, str] = {}
    for fact in facts:
        if not isinstance(fact.payload, e.JobStarted) or fact.payload.job_id in own:
            continue
        key, job_id = fact.payload.session_key, fact.payload.job_id
        if _number(job_id) < _number(last.get(key, "_0")):
            world.accuse(f"{job_id} began after {last[key]} in {key}")
        last[key] = job_id
    started = {f.payload.job_id for f in facts if isinstance(f.payload, e.JobStarted)}
    for invoked in world.agents.invoked:
        if invoked.job_id not in started:
            world.accuse(f"{invoked.job_id} ran, and the journal does not know that it began")


def _hand_overs_are_written_down(world: World, facts: list[lines.JournalLine]) -> None:
    """A prompt that reached its agent was called handed over before; one that was not is never called unknown."""
    kinds = (e.JobStarted, e.JobHandedOver, e.JobMarkedUnknownAfterCrash)
    awaited: dict[str, bool] = {}
    for payload in (fact.payload for fact in facts if isinstance(fact.payload, kinds)):
        match payload:
            case e.JobStarted():
                awaited[payload.job_id] = payload.awaits_hand_over
            case e.JobHandedOver():
                awaited[payload.job_id] = False
            case e.JobMarkedUnknownAfterCrash() if awaited.get(payload.job_id) and not world.lost_journals:
                world.accuse(f"{payload.job_id} is called unknown, and its agent never had the prompt")
            case _:
                pass
    far = {
        f.payload.job_id for f in facts if isinstance(f.payload, e.JobStarted) and machine_of(f.payload.project_path)
    }
    for invoked in world.agents.invoked:
        # On another machine the runner's journal has it first, and a person may cancel the job before the daemon does.
        if awaited.get(invoked.job_id) and invoked.job_id not in far:
            world.accuse(f"{invoked.job_id} ran, and the journal does not know that it was handed over")


def _deliveries_are_once_and_in_order(world: World, facts: list[lines.JournalLine]) -> None:
    plans = {f.payload.entry_id: f.payload for f in facts if isinstance(f.payload, e.DeliveryPlanned)}
    given_up = {f.payload.entry_id for f in facts if isinstance(f.payload, e.DeliveryAbandoned)}
    order = {f.payload.entry_id: f.seq for f in facts if isinstance(f.payload, e.DeliveryOwed)}
    seen: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for post in world.history.posts:
        seen[post.address].append((order.get(EntryId(post.entry_id), -1), post.index))
    for address, posts in seen.items():
        if posts != sorted(set(posts)):
            wrong = [p for n, p in enumerate(posts) if n and p <= posts[n - 1]]
            world.accuse(f"{address} saw answers twice or out of order: {_describe_pieces(wrong, order)}")
    for entry_id, plan in plans.items():
        shown = [p.text for p in world.history.posts if p.entry_id == entry_id]
        whole = [piece.text for piece in plan.pieces if not piece.thread]
        if entry_id in given_up:
            whole = whole[: len(shown)]
        if sorted(set(shown)) != sorted(set(whole)):
            world.accuse(f"{entry_id} was planned as {len(whole)} pieces, and {len(shown)} were seen")
    for entry_id in order:
        if entry_id not in plans and entry_id not in given_up:
            world.accuse(f"{entry_id} was owed and never planned")


def _describe_pieces(wrong: list[tuple[int, int]], order: dict[EntryId, int]) -> str:
    names = {seq: entry_id for entry_id, seq in order.items()}
    return ", ".join(f"{names.get(seq, 'something never owed')}[{index}]" for seq, index in wrong)


def _hand_edits_are_taken_over(world: World, facts: list[lines.JournalLine]) -> None:
    made = {f.payload.name for f in facts if isinstance(f.payload, e.ProjectCreated)}
    for name in sorted(world.added_by_hand - made):
        world.accuse(f"project {name}, which was added by hand, was not taken over")


def _started_agents_belong_to_somebody(world: World, facts: list[lines.JournalLine]) -> None:
    """An agent that was started before its thread serves its session or is ended; one that could not be started has
    no thread."""
    owed = (f.payload for f in facts if isinstance(f.payload, e.DeliveryOwed))
    opened = {fact.opening.asked_by for fact in owed if fact.opening is not None}
    for ticket in sorted(world.started_agents.failed):
        if any(ticket.endswith(f"-{asked_by}") for asked_by in opened):
            world.accuse(f"the agent of {ticket} could not be started, and a thread was made for it")
    for agent in world.started_agents.alive_in(world.lives):
        if agent.state == "ready":
            world.accuse(f"the agent of {agent.ticket} was started, and belongs to nobody")


def _only_bounded_turns_run_out_of_time(world: World, facts: list[lines.JournalLine]) -> None:
    runtimes = {f.payload.job_id: f.payload.runtime for f in facts if isinstance(f.payload, e.JobStarted)}
    configured = {f.payload.name for f in facts if isinstance(f.payload, e.AgentConfigured)}
    for fact in facts:
        timed_out = isinstance(fact.payload, e.JobFailed) and fact.payload.error_code == Code.E_CLI_TIMEOUT
        if timed_out and runtimes.get(fact.payload.job_id) in configured:
            world.accuse(f"{fact.payload.job_id} has no time limit, and one ended it")


def _state_is_the_fold(world: World, facts: list[lines.JournalLine]) -> None:
    """With the snapshot, without it, and folded by hand: three ways, one state. And the totals match."""
    folded = State()
    for fact in facts:
        apply(folded, fact.seq, fact.ts, fact.payload)
    with_snapshot = world.disk.crash(Random(0), power_lost=False)
    without = world.disk.crash(Random(0), power_lost=False)
    if without.exists(STATE / SNAPSHOT_NAME):
        without.unlink(STATE / SNAPSHOT_NAME)
    opened = {"with": open_state(STATE, with_snapshot), "without": open_state(STATE, without)}
    for how, found in opened.items():
        if msgspec.to_builtins(found.state) != msgspec.to_builtins(folded):
            world.accuse(f"a start {how} snapshot gives another state than the journal")
    judge_unfetched(world, facts, folded)
    judge_retention(world, facts, folded)
    account, live = folded.account, sum(folded.live_counts().values())
    if account.received != account.settled_total + live:
        world.accuse(f"the totals do not match: {account}, {live} live")
