"""Files that turns change: each change is told of the turn that made it, and every undo that began has an end."""

from collections import Counter

from fairlead.core import events as e
from fairlead.store.lines import JournalLine
from fairlead.testing.undo_people import WatchedTrees
from fairlead.testing.world import World


def judge_undos(world: World, facts: list[JournalLine]) -> None:
    if isinstance(world.trees, WatchedTrees):
        _undos_end_once_and_are_told(world, facts)
        _jobs_are_undone_and_redone_in_turn(world, facts)
        _changes_are_told_of_their_turns(world, world.trees, facts)


def _undos_end_once_and_are_told(world: World, facts: list[JournalLine]) -> None:
    """The person who asked has a reply, or, if the daemon ended before it was over, a message."""
    numbered = [(fact.payload, life) for fact, life in zip(facts, lives_of(facts), strict=True)]
    began = {fact.undo_id: life for fact, life in numbered if isinstance(fact, e.UndoBegan)}
    ended = [(fact, life) for fact, life in numbered if isinstance(fact, e.UndoEnded)]
    told = {f.payload.undo.undo_id for f in facts if isinstance(f.payload, e.DeliveryOwed) and f.payload.undo}
    times = Counter(end.undo_id for end, _ in ended)
    for undo_id in began:
        if times[undo_id] != 1:
            world.accuse(f"{undo_id} began once and ended {times[undo_id]} times")
    for end, life in ended:
        is_cut_off = began[end.undo_id] != life
        if is_cut_off and end.undo_id not in told:
            world.accuse(f"{end.undo_id} was finished by a later start, and nobody was told")
        world.happened["undos that a crash cut off"] += is_cut_off
        world.happened["undos"] += 1


def lives_of(facts: list[JournalLine]) -> list[int]:
    """For each fact the life that it is of, which the start of the simulated machine calls its process id."""
    life, lives = 0, list[int]()
    for fact in facts:
        life = fact.payload.pid if isinstance(fact.payload, e.DaemonStarted) else life
        lives.append(life)
    return lives


def _jobs_are_undone_and_redone_in_turn(world: World, facts: list[JournalLine]) -> None:
    undone: set[str] = set()
    for fact in facts:
        match fact.payload:
            case e.JobUndone(job_id=job_id):
                if job_id in undone:
                    world.accuse(f"{job_id} was undone twice")
                undone.add(job_id)
            case e.JobRedone(job_id=job_id):
                if job_id not in undone:
                    world.accuse(f"{job_id} was redone, and was not undone")
                undone.discard(job_id)
                world.happened["redone jobs"] += 1
            case _:
                pass


def _changes_are_told_of_their_turns(world: World, trees: WatchedTrees, facts: list[JournalLine]) -> None:
    taken = [f.payload for f in facts if isinstance(f.payload, e.TreeSnapshotTaken)]
    ends = {t.job_id: t for t in taken if t.moment == "end" and not t.is_late}
    alone = _jobs_that_were_alone(facts)
    for job_id, end in ends.items():
        named = {file.path for file in end.changed.files} if end.changed is not None else set[str]()
        for path in sorted(named):
            written_by = trees.files_in(end.snapshot.commit).get(path, "").strip()
            if job_id in alone and written_by != job_id:
                world.accuse(f"{job_id} is said to have changed {path}, and {written_by} did")
        path, _ = trees.worked.get(job_id, ("", 0))
        if path and job_id in alone and path not in named:
            world.accuse(f"{job_id} changed {path}, and the snapshot of its end does not say so")
        world.happened["turns that changed files alone"] += bool(path) and job_id in alone


def _jobs_that_were_alone(facts: list[JournalLine]) -> set[str]:
    """Those during whose turn no other one ran: the simulated machine has one directory for all."""
    open_now: set[str] = set()
    together: set[str] = set()
    seen: set[str] = set()
    for fact in facts:
        match fact.payload:
            case e.JobStarted(job_id=job_id):
                open_now.add(job_id)
                seen.add(job_id)
                together |= open_now if len(open_now) > 1 else set()
            case e.JobCompleted(job_id=job_id) | e.JobFailed(job_id=job_id) | e.JobCancelled(job_id=job_id):
                open_now.discard(job_id)
            case e.JobMarkedUnknownAfterCrash(job_id=job_id) | e.JobRequeued(job_id=job_id):
                open_now.discard(job_id)
            case _:
                pass
    return seen - together
