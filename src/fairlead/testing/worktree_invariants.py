"""Worktrees of sessions: what was begun has one end, people are told of it, and no work is lost."""

from fairlead.core import events as e
from fairlead.store.lines import JournalLine
from fairlead.testing.undo_invariants import lives_of
from fairlead.testing.worktree_people import WatchedWorktrees
from fairlead.testing.world import World


def judge_worktrees(world: World, facts: list[JournalLine]) -> None:
    if isinstance(world.worktrees, WatchedWorktrees):
        _what_was_begun_ends_and_is_told(world, world.worktrees, facts)
        _no_work_is_lost(world, world.worktrees)


def _what_was_begun_ends_and_is_told(world: World, worktrees: WatchedWorktrees, facts: list[JournalLine]) -> None:
    """The person who asked has had a reply, or, if the daemon ended before it was over, a message in the same batch."""
    begun: dict[int, tuple[str, int, bool]] = {}
    sessions: dict[int, str] = {}
    told = {f.seq: f.payload.worktree.number for f in facts if _is_notice(f)}
    for fact, life in zip(facts, lives_of(facts), strict=True):
        match fact.payload:
            case e.WorktreePlanned() | e.WorktreeMergeBegun() | e.WorktreeDiscardBegun() as began:
                is_renewal = isinstance(began, e.WorktreeDiscardBegun) and began.renew
                begun[began.number] = type(began).__name__, life, is_renewal
                if isinstance(began, e.WorktreePlanned):
                    sessions[began.number] = began.session_key
                world.happened[type(began).__name__] += 1
            case (
                e.WorktreeMade()
                | e.WorktreeFailed()
                | e.WorktreeMerged()
                | e.WorktreeMergeStopped()
                | e.WorktreeDiscarded() as end
            ):
                if end.number not in begun:
                    world.accuse(f"{type(end).__name__} of worktree {end.number}, and nothing was begun")
                    continue
                what, began_in, is_renewal = begun.pop(end.number)
                if began_in == life:
                    continue
                world.happened[f"{what} that a crash cut off"] += 1
                has_reply = is_renewal or (sessions[end.number], life) in worktrees.asked
                if not has_reply and not any(told.get(seq) == end.number for seq in range(fact.seq, fact.seq + 5)):
                    world.accuse(f"{what} of worktree {end.number} was finished by a later start, and nobody was told")
            case _:
                pass
    for number, (what, _, _) in begun.items():
        world.accuse(f"{what} of worktree {number} has no end")


def _is_notice(fact: JournalLine) -> bool:
    return isinstance(fact.payload, e.DeliveryOwed) and fact.payload.worktree is not None


def _no_work_is_lost(world: World, worktrees: WatchedWorktrees) -> None:
    found = set(worktrees.target).union(*worktrees.there.values(), *worktrees.kept.values())
    for job_id in sorted(worktrees.worked.keys() - found):
        world.accuse(f"what {job_id} did in worktree {worktrees.worked[job_id]} is nowhere")
    world.happened["jobs in worktrees"] += len(worktrees.worked)
