"""What must be true of sessions that were started for a task, read from the journal and from what people saw.

1. A request makes one session at most, and the session gets its task once.
2. A completion that an agent waits for comes into the session that asked, once, and to no conversation; any other comes
   to a conversation, and into no session.
3. What a thread's task brings stands in the thread and nowhere else; the place that asked has the link once.
4. No tree is deeper, no session has more at work, and no agents spawn more in a row than the limits say.
"""

from collections import Counter, defaultdict

from fairlead.core import events as e
from fairlead.core.conversation import ConversationRef
from fairlead.core.message_ids import child_id, spawn_id
from fairlead.core.spawns import SpawnOrder
from fairlead.core.state import answer_entry_id, link_entry_id, thread_start_entry_id
from fairlead.errors import Code
from fairlead.store.lines import JournalLine
from fairlead.testing.world import World

_ENDS = (e.JobCompleted, e.JobFailed, e.JobCancelled, e.JobMarkedUnknownAfterCrash)
_BY_NO_AGENT = frozenset({"message", "retry", "answer", "reaction", "hook"})


class _Family:
    """The sessions of a journal that were spawned, and the jobs in them."""

    def __init__(self, facts: list[JournalLine]) -> None:
        self.facts = [fact.payload for fact in facts]
        discarded = {f.session_key for f in self.facts if isinstance(f, e.SessionDiscarded)}
        spawned = [f for f in self.facts if isinstance(f, e.SessionSpawned)]
        self.spawned = {f.session_key: f for f in spawned if f.session_key not in discarded}
        self.jobs = {f.job_id: f for f in self.facts if isinstance(f, e.JobEnqueued)}
        self.owed = {f.entry_id: f for f in self.facts if isinstance(f, e.DeliveryOwed)}
        self.plans = {f.entry_id: f for f in self.facts if isinstance(f, e.DeliveryPlanned)}
        self.given_up = {f.entry_id: f for f in self.facts if isinstance(f, e.DeliveryAbandoned)}
        self.ends = {f.job_id: f for f in self.facts if isinstance(f, _ENDS)}


def judge_spawns(world: World, facts: list[JournalLine]) -> None:
    family = _Family(facts)
    _requests_are_carried_out_once(world, family)
    _replies_are_true(world, family)
    _completions_come_to_who_asked(world, family)
    _last_words_are_returned(world, family)
    _threads_keep_their_words(world, family)
    _links_are_given_once(world, family)
    _limits_hold(world, family)
    world.happened["sessions spawned"] += len(family.spawned)
    world.happened["completions returned to agents"] += sum(j.cause == "child" for j in family.jobs.values())
    world.happened["threads spawned"] += sum(f.returns == "thread" for f in family.spawned.values())


def _requests_are_carried_out_once(world: World, family: _Family) -> None:
    asked = Counter(f.asked_by for f in family.spawned.values())
    for asked_by in (one for one, times in asked.items() if times > 1):
        world.accuse(f"the task {asked_by} got {asked[asked_by]} sessions")
    tasks = Counter(job.session_key for job in family.jobs.values() if job.cause == "spawn")
    for key, spawned in family.spawned.items():
        opening = thread_start_entry_id(spawned.asked_by)
        if tasks[key] != 1 and opening not in family.given_up:
            world.accuse(f"{key} was spawned for a task, and got it {tasks[key]} times")


def _replies_are_true(world: World, family: _Family) -> None:
    taken = {job.message_id: job for job in family.jobs.values() if job.cause == "spawn"}
    for asked_by, reply in world.spawn_promises:
        job = taken.get(spawn_id(asked_by))
        if reply.session_key and (job is None or job.session_key != reply.session_key):
            world.accuse(f"the task {asked_by} was promised to {reply.session_key}, which does not have it")
        if not reply.session_key and job is None and thread_start_entry_id(asked_by) not in family.given_up:
            world.accuse(f"the task {asked_by} was promised a thread, and nobody has it")


def _completions_come_to_who_asked(world: World, family: _Family) -> None:
    arrived: defaultdict[str, list[str]] = defaultdict(list)
    for job in family.jobs.values():
        if job.cause == "child":
            arrived[job.message_id].append(job.session_key)
            if job.attachments:
                world.accuse(f"{job.job_id} is an automatic follow-up, and has images")
    shown = Counter(post.entry_id for post in world.history.posts)
    for job_id in family.ends:
        owed = family.owed.get(answer_entry_id(job_id))
        if owed is None:
            continue  # another rule finds an answer that is not owed
        there = arrived.pop(child_id(job_id), [])
        if not owed.asker and there:
            world.accuse(f"{job_id} came into {there}, and no agent waited for it")
        if owed.asker and owed.entry_id not in family.given_up and there != [owed.asker]:
            world.accuse(f"{job_id} is for {owed.asker}, and came into {there}")
        if owed.asker and shown[owed.entry_id]:
            world.accuse(f"{job_id} is for {owed.asker}, and people saw it {shown[owed.entry_id]} times")
    for message_id in arrived:
        world.accuse(f"{message_id} came into a session, and no such job has ended")


def _last_words_are_returned(world: World, family: _Family) -> None:
    """The agent that asked hears of its task unless a person cancelled something of it, or reset the talk."""
    reset = {f.session_key for f in family.facts if isinstance(f, e.SessionReset)}
    cancelled = {j.session_key for j in family.jobs.values() if isinstance(family.ends.get(j.job_id), e.JobCancelled)}
    spoiled = reset | cancelled
    for key in reversed(family.spawned):
        spawned = family.spawned[key]
        parent = spawned.order.parent_session_key
        if key in spoiled and spawned.returns == "session":
            spoiled.add(parent)
    for key, spawned in family.spawned.items():
        if spawned.returns != "session" or key in spoiled or spawned.order.parent_session_key in reset:
            continue
        last = [job_id for job_id in family.ends if family.jobs[job_id].session_key == key][-1:]
        if last and not family.owed[answer_entry_id(last[0])].asker:
            world.accuse(f"{key} has finished with {last[0]}, and the session that asked does not hear of it")


def _threads_keep_their_words(world: World, family: _Family) -> None:
    for job in family.jobs.values():
        spawned = family.spawned.get(job.session_key)
        if spawned is None or spawned.returns != "thread" or job.cause != "spawn":
            continue
        entry_id = answer_entry_id(job.job_id)
        plan = family.plans.get(entry_id)
        may_fall_back = not spawned.order.fail_closed and plan is not None and plan.route == "fallback"
        allowed = {job.conversation.address, *({spawned.order.conversation.address} if may_fall_back else ())}
        seen = {post.address for post in world.history.posts if post.entry_id == entry_id}
        if not seen <= allowed:
            world.accuse(f"{job.job_id} has a thread, and was seen in {sorted(seen - allowed)}")
        lives_for_good = spawned.order.binding_ttl_ms is None
        if lives_for_good and plan is not None and plan.route != "bound":
            world.accuse(f"{job.job_id} has a thread for good, and its way was {plan.route}")


def _links_are_given_once(world: World, family: _Family) -> None:
    posted = Counter(post.entry_id for post in world.history.posts)
    for order, asked_by, place in _orders(family):
        entry_id = link_entry_id(asked_by)
        link = family.owed.get(entry_id)
        failed = family.given_up.get(thread_start_entry_id(asked_by))
        is_wanted = order.conversation.address != place.address if failed is None else _is_told(failed)
        if (link is not None) != is_wanted:
            world.accuse(f"the place that asked for {asked_by} is owed {'a' if link else 'no'} link")
        if link is not None and entry_id not in family.given_up and posted[entry_id] != 1:
            world.accuse(f"the place that asked for {asked_by} saw the link {posted[entry_id]} times")


def _orders(family: _Family) -> list[tuple[SpawnOrder, str, ConversationRef]]:
    openings = (f for f in family.owed.values() if f.opening is not None)
    return [(f.opening.spawn, f.opening.asked_by, f.requester) for f in openings if f.opening and f.opening.spawn]


def _is_told(failed: e.DeliveryAbandoned) -> bool:
    return failed.error_code != Code.E_SPAWN_CANCELLED


def _limits_hold(world: World, family: _Family) -> None:
    live: defaultdict[str, set[str]] = defaultdict(set)
    in_a_row: Counter[str] = Counter()
    for fact in family.facts:
        match fact:
            case e.JobEnqueued():
                live[fact.session_key].add(fact.job_id)
                if fact.cause in _BY_NO_AGENT or (fact.cause == "schedule" and not fact.foreign):
                    in_a_row[_topmost(family, fact.session_key)] = 0
            case e.JobCompleted() | e.JobFailed() | e.JobCancelled() | e.JobMarkedUnknownAfterCrash():
                live[family.jobs[fact.job_id].session_key].discard(fact.job_id)
            case e.JobWithdrawn():
                live[family.jobs[fact.job_id].session_key].discard(fact.job_id)
            case e.SessionSpawned() if fact.session_key in family.spawned:
                _check_limits(world, family, fact, live, in_a_row)
            case _:
                pass


def _check_limits(
    world: World, family: _Family, fact: e.SessionSpawned, live: dict[str, set[str]], in_a_row: Counter[str]
) -> None:
    limits, parent = world.limits, fact.order.parent_session_key
    above = family.spawned.get(parent)
    depth = 1 if above is None else above.order.depth + 1
    if not fact.order.depth == depth <= limits.spawn_max_depth:
        world.accuse(f"{fact.session_key} was spawned {depth} deep")
    siblings = [s for s in family.spawned.values() if s.order.parent_session_key == parent and live.get(s.session_key)]
    if len(siblings) >= limits.spawn_max_children:
        world.accuse(f"{fact.session_key} was spawned while {len(siblings)} others were at work for {parent}")
    if fact.order.by_agent:
        topmost = _topmost(family, fact.session_key)
        in_a_row[topmost] += 1
        if in_a_row[topmost] > limits.spawn_max_in_a_row:
            world.accuse(f"{fact.session_key} is number {in_a_row[topmost]} that agents spawned in a row")


def _topmost(family: _Family, session_key: str) -> str:
    keys = {str(key): str(fact.order.parent_session_key) for key, fact in family.spawned.items()}
    while session_key in keys:
        session_key = keys[session_key]
    return session_key
