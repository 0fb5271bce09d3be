"""Asking a person on behalf of an agent, and carrying the response back. Waits on the ledger, not on any channel."""

import asyncio

from fairlead.core import timestamps
from fairlead.core.decide.questions import AskPerson, ExpireQuestion, WithdrawQuestion, narrow_rule
from fairlead.core.engine import Ask, PermissionRequested, Response
from fairlead.core.ids import JobId, QuestionId
from fairlead.core.state import OpenQuestion
from fairlead.errors import FairleadError
from fairlead.flow.ledger import Ledger
from fairlead.render.errors import error_text


class Approvals:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def ask(self, job_id: JobId, ask: Ask) -> Response:
        """The person's answer, once the job has its slot again. No person in time, or too many waiting jobs: no."""
        if self._is_already_allowed(job_id, ask):
            return Response(request_id=ask.request_id, verdict="allow", remember=True)
        try:
            decision = await self._ledger.record_durably(AskPerson(job_id, ask))
        except FairleadError as refusal:
            return Response(request_id=ask.request_id, verdict="deny", message=error_text(refusal).what)
        question = await self._until_settled(decision.question_id)
        await self._until_running(job_id)
        return _response(question)

    async def withdraw(self, job_id: JobId, request_id: str) -> None:
        await self._ledger.record_durably(WithdrawQuestion(job_id, request_id))

    def _is_already_allowed(self, job_id: JobId, ask: Ask) -> bool:
        job = self._ledger.state.jobs.get(job_id)
        session = self._ledger.state.sessions.get(job.session_key) if job is not None else None
        if session is None or not isinstance(ask, PermissionRequested):
            return False
        return narrow_rule(ask) in session.rules

    async def _until_settled(self, question_id: QuestionId) -> OpenQuestion:
        questions = self._ledger.state.questions
        left = timestamps.seconds_between(self._ledger.now(), questions[question_id].deadline)
        try:
            async with asyncio.timeout(max(left, 0)):
                while questions[question_id].status == "open":
                    await self._ledger.until_changed(self._ledger.state.seq)
        except TimeoutError:
            await self._ledger.record_durably(ExpireQuestion(question_id))
        return questions[question_id]

    async def _until_running(self, job_id: JobId) -> None:
        """The scheduler gives the slot back, ahead of everybody who has not begun."""
        state = self._ledger.state
        while (job := state.jobs.get(job_id)) is not None and job.state == "waiting":
            await self._ledger.until_changed(state.seq)
        await self._ledger.until_all_durable()


def _response(question: OpenQuestion) -> Response:
    if question.status != "answered":
        reason = question.closed_reason.replace("_", " ") or "closed"
        return Response(
            request_id=question.request_id, verdict="deny", message=f"Nobody answered: the question is {reason}."
        )
    return Response(
        request_id=question.request_id,
        verdict="allow" if question.verdict == "allow" else "deny",
        chosen=question.chosen,
        message=question.message,
        remember=question.for_session,
    )
