"""What must be true however the clock jumped: judged by the world's own time, which no daemon knows."""

from fairlead.core import events as e
from fairlead.core.conversation import ConversationRef
from fairlead.core.ids import EntryId, JobId
from fairlead.core.retention import KEPT_KEY_DAYS
from fairlead.core.state import State
from fairlead.errors import Code
from fairlead.store.lines import JournalLine
from fairlead.testing.wall_clock import DAY
from fairlead.testing.world import World

KEPT_UNFETCHED_DAYS = 7
MOST_DAYS_KEPT = KEPT_KEY_DAYS + 3
_AT_ONCE = frozenset({Code.E_QUESTION_CLOSED, Code.E_SPAWN_CANCELLED})


def judge_patience(world: World, facts: list[JournalLine]) -> None:
    """Only a question that is settled or a task that was cancelled may be dropped at once, and what goes to a
    conversation that is gone, or, because its binding has ended, nowhere."""
    plans = {f.payload.entry_id: f.payload for f in facts if isinstance(f.payload, e.DeliveryPlanned)}
    owed_at = _times_owed(world, facts)
    for fact in facts:
        given_up = fact.payload
        if not isinstance(given_up, e.DeliveryAbandoned) or given_up.error_code in _AT_ONCE:
            continue
        if given_up.entry_id in plans and plans[given_up.entry_id].route == "nowhere":
            continue
        to = plans[given_up.entry_id].destination if given_up.entry_id in plans else None
        age = world.wall.last_time_of(fact.ts) - owed_at[given_up.entry_id]
        is_gone = to is not None and to.address in world.history.closed
        if not is_gone and age < world.limits.delivery_patience_days * DAY:
            world.accuse(f"{given_up.entry_id} was given up after {age:.0f} s, and patience lasts longer")


def _times_owed(world: World, facts: list[JournalLine]) -> dict[EntryId, float]:
    owed = ((f.ts, f.payload) for f in facts if isinstance(f.payload, e.DeliveryOwed))
    return {entry.entry_id: world.wall.first_time_of(ts) for ts, entry in owed}


def judge_unfetched(world: World, facts: list[JournalLine], state: State) -> None:
    """An answer that a client may fetch stays until it was fetched, or for seven days."""
    plans = {f.payload.entry_id: f.payload for f in facts if isinstance(f.payload, e.DeliveryPlanned)}
    settled = {f.payload.entry_id for f in facts if isinstance(f.payload, e.DeliveryAcknowledged | e.DeliveryAbandoned)}
    for entry_id, owed_at in _times_owed(world, facts).items():
        if entry_id not in plans or plans[entry_id].pieces or not entry_id.startswith("debt_job_"):
            continue
        world.happened["answers to fetch"] += 1
        if entry_id not in settled and entry_id not in state.outbox:
            age = world.loop.time() - owed_at
            if age < KEPT_UNFETCHED_DAYS * DAY:
                world.accuse(f"{entry_id} was never fetched, and is gone after {age:.0f} s")


def judge_retention(world: World, facts: list[JournalLine], state: State) -> None:
    """Days go by and are closed, whatever dates they have; what is old leaves."""
    taken_at = {
        (f.payload.conversation.address, f.payload.message_id): world.wall.last_time_of(f.ts)
        for f in facts
        if isinstance(f.payload, e.JobEnqueued | e.MessageRefused | e.MessageSkipped)
    }
    today = [taken_at[address, m] for address, here in state.outcomes_today.items() for m in here]
    if today and max(today) - min(today) > 2 * DAY:
        world.accuse(f"one day of the journal has lasted {(max(today) - min(today)) / DAY:.1f} days: retention stopped")
    if len(state.outcomes_by_day) > MOST_DAYS_KEPT:
        world.accuse(f"the keys of {len(state.outcomes_by_day)} days are kept: retention stopped")
    world.happened["days lived through"] += state.lived_day
    world.happened["floors that rose"] += len(state.dedupe_floors)


def judge_repeats(world: World, facts: list[JournalLine]) -> None:
    """A prompt runs once for each message that asked for it: no key is forgotten before its time."""
    messages: dict[tuple[str, str], set[JobId]] = {}
    for fact in facts:
        if isinstance(fact.payload, e.JobEnqueued):
            messages.setdefault(_key(fact.payload.conversation, fact.payload.message_id), set()).add(
                fact.payload.job_id
            )
    for (address, message_id), jobs in messages.items():
        if len(jobs) > 1:
            world.accuse(f"{address} message {message_id} ran {len(jobs)} times: {sorted(jobs)}")


def _key(conversation: ConversationRef, message_id: str) -> tuple[str, str]:
    return conversation.address, message_id
