"""Marks on people's messages, and messages that were sent while the daemon was down: what must be true of them at the
end."""

from fairlead.channels.push.marks import DONE, FAILED, STEERED
from fairlead.core import events as e
from fairlead.core.ids import JobId
from fairlead.core.message_ids import written_message
from fairlead.core.state import answer_entry_id
from fairlead.store.lines import JournalLine
from fairlead.testing.channel import Marked
from fairlead.testing.world import World

_BAD_ENDS = (e.JobFailed, e.JobCancelled, e.JobMarkedUnknownAfterCrash)


def judge_marks(world: World, facts: list[JournalLine]) -> None:
    """The last mark on every message tells what became of it, and none said "done" before the answer was there."""
    last = {(m.address, m.message_id): m for m in world.history.marks}
    wanted = _wanted_marks(facts)
    for key, mark in wanted.items():
        if key not in last or last[key].mark != mark:
            is_now = last[key].mark if key in last else "nothing"
            world.accuse(f"{key[0]} message {key[1]} bears {is_now}, and the mark {mark} would be right")
    world.happened["marks of refusals"] += sum(isinstance(f.payload, e.MessageRefused) for f in facts)
    jobs = {_key(f.payload): f.payload.job_id for f in facts if isinstance(f.payload, e.JobEnqueued)}
    for marked in world.history.marks:
        if marked.mark == DONE and (marked.address, marked.message_id) in jobs:
            _check_delivered(world, facts, marked, jobs[marked.address, marked.message_id])


def _wanted_marks(facts: list[JournalLine]) -> dict[tuple[str, str], str]:
    keys: dict[str, tuple[str, str]] = {}
    wanted: dict[tuple[str, str], str] = {}
    given_up = {f.payload.entry_id for f in facts if isinstance(f.payload, e.DeliveryAbandoned)}
    for fact in facts:
        match fact.payload:
            case e.JobEnqueued() as job if job.conversation.channel == "chat" and written_message(job.message_id):
                keys[job.job_id] = _key(job)
            case e.MessageRefused() as refused if refused.conversation.channel == "chat" and written_message(
                refused.message_id
            ):
                wanted[_key(refused)] = FAILED
            case e.JobCompleted() as ended if ended.job_id in keys:
                wanted[keys[ended.job_id]] = FAILED if answer_entry_id(ended.job_id) in given_up else DONE
            case e.JobSteered() as ended if ended.job_id in keys:
                wanted[keys[ended.job_id]] = STEERED
            case ended if isinstance(ended, _BAD_ENDS) and ended.job_id in keys:
                wanted[keys[ended.job_id]] = FAILED
            case _:
                pass
    return wanted


def _key(taken: e.JobEnqueued | e.MessageRefused) -> tuple[str, str]:
    return taken.conversation.address, written_message(taken.message_id) or taken.message_id


def _check_delivered(world: World, facts: list[JournalLine], marked: Marked, job_id: JobId) -> None:
    entry_id = answer_entry_id(job_id)
    plans = [f.payload for f in facts if isinstance(f.payload, e.DeliveryPlanned) and f.payload.entry_id == entry_id]
    pieces = sum(len(plan.pieces) for plan in plans)
    there = {p.index for p in world.history.posts if p.entry_id == entry_id and p.at <= marked.at}
    if len(there) < pieces:
        world.accuse(f"the message of {job_id} was marked as done when {len(there)} of {pieces} pieces were there")


def judge_said(world: World, facts: list[JournalLine]) -> None:
    """Every message in a conversation that the channel reads was taken or refused, in the order of saying."""
    taken = [_key(f.payload) for f in facts if isinstance(f.payload, e.JobEnqueued | e.MessageRefused)]
    for listener in world.read_conversations:
        address = listener.conversation.address
        said = [s.message_id for s in world.history.said if s.address == address]
        here = [message_id for at, message_id in taken if at == address and message_id.isdecimal()]
        for message_id in sorted(set(said) - set(here)):
            world.accuse(f"{address} message {message_id} was said, and never taken")
        if here != sorted(here, key=int):
            world.accuse(f"{address} was not read in the order in which it was said: {here}")
