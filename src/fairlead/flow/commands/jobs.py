"""Commands about jobs: cancel, try again, and what became of one."""

from fairlead.core import requests as ask
from fairlead.core.decide.messages import RetryJob
from fairlead.core.replies import JobQueued, JobsCancelled, Story
from fairlead.core.requests import Caller
from fairlead.core.visibility import may_see
from fairlead.errors import Code, error
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.flow.turns.cancellation import cancel_jobs


def job_handlers(parts: CommandParts) -> HandlerTable:
    commands = JobCommands(parts)
    return {ask.Cancel: commands.cancel, ask.Retry: commands.retry, ask.Why: commands.why}


class JobCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts

    async def cancel(self, request: ask.Cancel, caller: Caller) -> JobsCancelled:
        parts = self._parts
        session = parts.managed_session(caller)
        everything = [*filter(None, (session.running_job_id, session.agent_job_id)), *session.queue]
        chosen = [j for j in everything if request.job_id in {"", j}]
        if not chosen:
            raise error(Code.E_NOTHING_TO_CANCEL)
        return await cancel_jobs(parts.ledger, parts.scheduler, chosen, caller.person)

    async def retry(self, request: ask.Retry, caller: Caller) -> JobQueued:
        parts = self._parts
        past = await parts.job_history.job(request.job_id)
        if not may_see(parts.state, past.job.session_key, caller):
            raise error(Code.E_JOB_NOT_FOUND, f"There is no job {request.job_id!r}.")
        prompt = "" if past.job.prompt_blob else past.prompt
        decision = await parts.ledger.record_durably(RetryJob(past.job, prompt, caller.person, past.job.attachments))
        job = parts.state.jobs[decision.job_id]
        return JobQueued(job.job_id, job.attempt, job.retry_of)

    async def why(self, request: ask.Why, caller: Caller) -> Story:
        return await self._parts.job_history.story(request.subject, caller)
