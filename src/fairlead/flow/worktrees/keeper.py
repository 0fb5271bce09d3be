"""Brings the worktrees of sessions to where the journal says that they shall be: made, merged, discarded.

1. A fact says what shall be done, and git begins when that fact is durable. No job of the session starts meanwhile.
2. What git did is a fact, with which the session goes on. Git's part can be repeated, so after a crash it is.
3. The person who asked gets the result. Where nobody waits for it any more, the conversation is told.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Final, TypeAlias

from fairlead.core.decide import Command
from fairlead.core.decide.worktrees import (
    BeginDiscard,
    BeginMerge,
    FailMaking,
    FinishDiscard,
    FinishMaking,
    FinishMerge,
    PlanAgain,
    StopMerge,
    WantWorktree,
)
from fairlead.core.ids import JobId
from fairlead.core.worktrees import UNSETTLED, KeptWork, MadeWorktree, MergeResult, Worktree
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.ledger import Ledger
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log, log_failure
from fairlead.ports import MergeConflict, TakenBranch, Worktrees

FORGET_SECONDS: Final = 3600.0

EndAgents: TypeAlias = Callable[[Worktree], Awaitable[None]]
"""Ends the agents that sit in this worktree: their directory goes."""


class AgentAsked(Exception):  # noqa: N818 - says what happened
    """Commits conflict in `files`, and the session's agent was asked to resolve that, in the job `job_id`."""

    def __init__(self, target: str, files: tuple[str, ...], job_id: JobId) -> None:
        super().__init__(f"{len(files)} files conflict with {target}")
        self.target = target
        self.files = files
        self.job_id = job_id


Outcome: TypeAlias = MadeWorktree | MergeResult | KeptWork | None


class WorktreeKeeper:
    def __init__(self, ledger: Ledger, git: Worktrees, end_agents: EndAgents) -> None:
        self._ledger = ledger
        self.git = git
        self._end_agents = end_agents
        self._waiting: dict[int, asyncio.Future[Outcome]] = {}
        self._busy: set[int] = set()

    async def run(self) -> None:
        """For ever. Without a worktree it does nothing."""
        state = self._ledger.state
        async with TaskOwner("worktrees") as owner:
            owner.start(self._keep_forgetting(), name="forget")
            owner.start(self.clear_orphans(), name="orphans")
            while True:
                seen = state.seq
                for number in self._find_unsettled():
                    self._busy.add(number)
                    owner.start(self._settle(number), name=str(number))
                await self._ledger.until_changed(seen, concerns=lambda: bool(self._find_unsettled()))

    def _find_unsettled(self) -> list[int]:
        """The worktrees about which something is to be done, and nobody does it yet."""
        worktrees = self._ledger.state.worktrees.values()
        return [w.number for w in worktrees if w.status in UNSETTLED and w.number not in self._busy]

    # --- asking

    async def make(self, command: WantWorktree | PlanAgain) -> tuple[Worktree, MadeWorktree | None]:
        """The worktree, once it is there; without what git made, if it was there before. Raises why it cannot be."""
        decision = self._ledger.apply_now(command)
        if decision.refusal is not None:
            raise decision.refusal
        worktree = self._ledger.state.worktrees[decision.worktree]
        if decision.duplicate and worktree.status != "planned":
            return worktree, None
        made = await self._wait_for(decision.worktree)
        return self._ledger.state.worktrees[decision.worktree], made if isinstance(made, MadeWorktree) else None

    async def merge(self, command: BeginMerge) -> MergeResult:
        """Raises why nothing was merged, and AgentAsked."""
        result = await self._begin(command)
        assert isinstance(result, MergeResult), "a merge ends with its result"
        return result

    async def discard(self, command: BeginDiscard) -> KeptWork | None:
        kept = await self._begin(command)
        return kept if isinstance(kept, KeptWork) else None

    async def _begin(self, command: BeginMerge | BeginDiscard) -> Outcome:
        decision = self._ledger.apply_now(command)
        if decision.refusal is not None:
            raise decision.refusal
        return await self._wait_for(decision.worktree)

    async def _wait_for(self, number: int) -> Outcome:
        with self._expect(number) as outcome:
            return await asyncio.shield(outcome)

    @contextmanager
    def _expect(self, number: int) -> Generator[asyncio.Future[Outcome]]:
        outcome = self._waiting.get(number)
        if outcome is None:
            outcome = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            yield outcome
        finally:
            if self._waiting.get(number) is outcome:
                del self._waiting[number]

    # --- doing

    async def _settle(self, number: int) -> None:
        try:
            await self._ledger.until_all_durable()
            worktree = self._ledger.state.worktrees.get(number)
            if worktree is None:
                return
            match worktree.status:
                case "planned":
                    await self._make(worktree)
                case "merging":
                    await self._merge(worktree)
                case "discarding":
                    await self._discard(worktree)
                case _:
                    pass
        finally:
            self._busy.discard(number)
            self._ledger.wake()  # a fact that came while this one was finished is looked at now

    async def _make(self, worktree: Worktree) -> None:
        try:
            made = await self.git.make(worktree)
        except TakenBranch as taken:
            await self._ledger.record_durably(PlanAgain(worktree.number, taken.branches))
            return
        except Exception as fault:  # whatever git or the disk does, the session must not wait for ever
            refusal = _as_refusal("a worktree could not be made", fault)
            tell = self._is_to_be_told(worktree)
            await self._record(FailMaking(worktree.number, refusal.code, refusal.message, tell=tell))
            self._raise_to_asker(worktree, refusal)
            return
        await self._record(FinishMaking(worktree.number, made, tell=self._is_to_be_told(worktree)))
        log.info("worktree made", worktree=worktree.number, branch=worktree.branch, path=worktree.path)
        self._tell_asker(worktree, made)

    async def _merge(self, worktree: Worktree) -> None:
        try:
            result = await self.git.merge(worktree)
        except MergeConflict as conflict:
            await self._ask_agent(worktree, conflict)
            return
        except Exception as fault:  # whatever git or the disk does, the session must not wait for ever
            refusal = _as_refusal("a worktree could not be merged", fault)
            stop = StopMerge(
                number=worktree.number,
                code=refusal.code,
                message=refusal.message,
                tell=self._is_to_be_told(worktree),
            )
            await self._record(stop)
            self._raise_to_asker(worktree, refusal)
            return
        await self._record(FinishMerge(worktree.number, result, tell=self._is_to_be_told(worktree)))
        log.info("worktree merged", worktree=worktree.number, branch=worktree.branch, target=result.target)
        self._tell_asker(worktree, result)

    async def _ask_agent(self, worktree: Worktree, conflict: MergeConflict) -> None:
        decision = await self._ledger.record_durably(
            StopMerge(
                number=worktree.number,
                code=Code.E_MERGE_CONFLICT,
                message=f"{worktree.branch} conflicts with {conflict.target}.",
                files=conflict.files,
                target=conflict.target,
                tell=self._is_to_be_told(worktree),
            )
        )
        self._raise_to_asker(worktree, AgentAsked(conflict.target, conflict.files, decision.job_id))

    async def _discard(self, worktree: Worktree) -> None:
        try:
            await self._end_agents(worktree)
            kept = await self.git.discard(worktree)
        except Exception as fault:  # whatever git or the disk does, the session must not wait for ever
            refusal = _as_refusal("a worktree could not be discarded", fault)
            tell = self._is_to_be_told(worktree)
            await self._record(FailMaking(worktree.number, refusal.code, refusal.message, tell=tell))
            self._raise_to_asker(worktree, refusal)
            return
        # One that is renewed was asked for with a reset, whose reply has said so.
        tell = self._is_to_be_told(worktree) and not worktree.renew
        await self._record(FinishDiscard(worktree.number, kept, tell=tell))
        log.info("worktree discarded", worktree=worktree.number, branch=worktree.branch)
        self._tell_asker(worktree, kept)

    async def _record(self, command: Command) -> None:
        await self._ledger.record_durably(command)

    def _is_to_be_told(self, worktree: Worktree) -> bool:
        return worktree.number not in self._waiting

    def _tell_asker(self, worktree: Worktree, outcome: Outcome) -> None:
        waiting = self._waiting.get(worktree.number)
        if waiting is not None and not waiting.done():
            waiting.set_result(outcome)

    def _raise_to_asker(self, worktree: Worktree, fault: Exception) -> None:
        waiting = self._waiting.get(worktree.number)
        if waiting is not None and not waiting.done():
            waiting.set_exception(fault)

    # --- what is left over

    async def clear_orphans(self) -> None:
        """Worktrees whose sessions are gone: one that has nothing to lose is discarded. The others stay, and the list
        of worktrees shows them."""
        state = self._ledger.state
        for worktree in [w for w in state.worktrees.values() if w.session_key not in state.sessions]:
            try:
                work = await self.git.look(worktree) if worktree.status == "ready" else None
            except FairleadError as refusal:
                log_failure("a worktree without a session was not looked at", refusal, worktree=worktree.number)
                continue
            if work is not None and work.is_nothing:
                self._ledger.apply_now(BeginDiscard(number=worktree.number, person=worktree.person))
            elif work is not None:
                log.warning("a worktree has no session", worktree=worktree.number, path=worktree.path)

    async def _keep_forgetting(self) -> None:
        """For ever: what is kept of discarded worktrees goes when the state has forgotten them."""
        state = self._ledger.state
        while True:
            await asyncio.sleep(FORGET_SECONDS)
            if not state.worktrees_made:
                continue
            needed = frozenset(discarded.ref for discarded in state.discarded_worktrees.values())
            for project in state.listed_projects():
                try:
                    await self.git.forget_kept(project.path, needed)
                except FairleadError:
                    continue  # a project that is no repository has nothing to forget


def _as_refusal(what: str, fault: Exception) -> FairleadError:
    if isinstance(fault, FairleadError):
        return fault
    log_failure(what, fault)
    return error(Code.E_INTERNAL, f"{type(fault).__name__}: {fault}")
