"""Commands about jobs: list them, cancel, try again, and what became of one."""

from typing import Final

from fairlead.core import requests as ask
from fairlead.core.decide.delivery import AbandonDelivery
from fairlead.core.decide.messages import RetryJob
from fairlead.core.ids import JobId
from fairlead.core.job_names import find_job_id, job_number
from fairlead.core.job_states import RETRYABLE
from fairlead.core.replies import JobCatalogue, JobQueued, JobRow, JobsCancelled, Story
from fairlead.core.requests import Caller
from fairlead.core.spawn_tree import descendants, is_apart, is_seen_from, openings_below
from fairlead.core.state import Job, Session
from fairlead.core.visibility import may_see
from fairlead.errors import Code, error
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.flow.queries.reports import job_row
from fairlead.flow.turns.cancellation import cancel_jobs

JOB_LIST_LENGTH: Final = 10


def _live_jobs(session: Session) -> list[JobId]:
    return [*filter(None, (session.running_job_id, session.agent_job_id)), *session.queue]


def job_handlers(parts: CommandParts) -> HandlerTable:
    commands = JobCommands(parts)
    return {
        ask.LatestJobs: commands.list,
        ask.Cancel: commands.cancel,
        ask.Retry: commands.retry,
        ask.Why: commands.why,
    }


class JobCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts

    async def list(self, _request: ask.LatestJobs, caller: Caller) -> JobCatalogue:
        newest = self._newest_first(self._parts.managed_session(caller))[:JOB_LIST_LENGTH]
        return JobCatalogue(tuple([await self._row(job) for job in newest]))

    async def cancel(self, request: ask.Cancel, caller: Caller) -> JobsCancelled:
        parts = self._parts
        here = self._sessions_here(caller)
        if not here:
            raise error(Code.E_NOT_IN_MANAGED_THREAD)
        wanted = find_job_id(parts.state.jobs, request.job_id)
        chosen = [j for s in here for j in _live_jobs(s)] if not wanted else self._shown_here(wanted, here)
        tops = [s.session_key for s in here] if request.children else []
        below = [key for top in tops for key in descendants(parts.state, top)]
        # From the top down: a session that is cancelled first asks for no more.
        chosen += [j for key in below for j in _live_jobs(parts.state.sessions[key]) if j not in chosen]
        unborn = openings_below(parts.state, frozenset((*tops, *below))) if tops else []
        if not chosen and not unborn:
            raise error(Code.E_NOTHING_TO_CANCEL)
        for entry_id in unborn:
            await parts.ledger.record_durably(AbandonDelivery(entry_id, Code.E_SPAWN_CANCELLED, "cancelled"))
        return await cancel_jobs(parts.ledger, parts.scheduler, chosen, caller.person)

    def _sessions_here(self, caller: Caller) -> "list[Session]":
        """The one that is talked to here, and the own ones of the schedules and hooks that answer here."""
        session, address = self._parts.session_here(caller), caller.conversation.address
        apart = [s for s in self._parts.state.sessions.values() if is_apart(s) and s.conversation.address == address]
        return [*([] if session is None or session in apart else [session]), *apart]

    def _shown_here(self, job_id: JobId, here: "list[Session]") -> "list[JobId]":
        """The job, if it lives and people see it here, in whichever session it is."""
        state, job = self._parts.state, self._parts.state.jobs.get(job_id)
        if job is None or not job.is_live:
            return []
        is_shown = any(is_seen_from(state, job.session_key, session.session_key) for session in here)
        return [job_id] if is_shown else []

    async def retry(self, request: ask.Retry, caller: Caller) -> JobQueued:
        parts = self._parts
        past = await parts.job_history.job(request.job_id or self._last_failed(caller))
        if not may_see(parts.state, past.job.session_key, caller):
            raise error(Code.E_JOB_NOT_FOUND, f"There is no job {request.job_id!r}.")
        prompt = past.quotation if past.job.prompt_blob else past.prompt
        decision = await parts.ledger.record_durably(RetryJob(past.job, prompt, caller.person, past.job.attachments))
        job = parts.state.jobs[decision.job_id]
        return JobQueued(job.job_id, job.attempt, job.retry_of)

    async def why(self, request: ask.Why, caller: Caller) -> Story:
        return await self._parts.job_history.story(request.subject or self._latest(caller), caller)

    def _newest_first(self, session: Session) -> "list[Job]":
        jobs = [job for job in self._parts.state.jobs.values() if job.session_key == session.session_key]
        return sorted(jobs, key=lambda job: job_number(job.job_id), reverse=True)

    def _latest(self, caller: Caller) -> JobId:
        newest = self._newest_first(self._parts.managed_session(caller))
        if not newest:
            raise error(Code.E_JOB_NOT_FOUND, "This session has no jobs yet.")
        return newest[0].job_id

    def _last_failed(self, caller: Caller) -> JobId:
        """An attempt that was tried again already is not meant: its next attempt is."""
        newest = self._newest_first(self._parts.managed_session(caller))
        repeated = {job.retry_of for job in newest}
        failed = (job.job_id for job in newest if job.state in RETRYABLE and job.job_id not in repeated)
        found = next(failed, None)
        if found is None:
            raise error(Code.E_JOB_NOT_RETRYABLE, "No job of this session has failed or was interrupted.")
        return found

    async def _row(self, job: Job) -> JobRow:
        past = await self._parts.job_history.job(job.job_id)
        return job_row(job, past.prompt, self._parts.ledger.now())
