"""Asking a person on behalf of an agent, and carrying the response back. Waits on the ledger, not on any channel."""

import asyncio
from typing import Protocol

from fairlead.core import timestamps
from fairlead.core.decide.messages import has_foreign_text
from fairlead.core.decide.questions import AskPerson, ExpireQuestion, WithdrawQuestion, narrow_rule
from fairlead.core.decide.rules import UseRule
from fairlead.core.engine import Ask, PermissionRequested, Response
from fairlead.core.ids import JobId, QuestionId
from fairlead.core.rules import RuleSubject
from fairlead.core.state import OpenQuestion
from fairlead.errors import FairleadError
from fairlead.flow.ledger import Ledger
from fairlead.flow.turns.rule_subjects import RealPath, rule_subject
from fairlead.render.errors import error_text


class Tiers(Protocol):
    """What the agents of a project may do now, by the name of its workspace: an agent with a shell can change that."""

    def describe(self, workspace: str) -> str:
        """In words; empty where nobody can tell."""
        ...

    def forbid(self, workspace: str, tool: str) -> bool: ...


class NoTiers:
    def describe(self, workspace: str) -> str:
        del workspace
        return ""

    def forbid(self, workspace: str, tool: str) -> bool:
        del workspace, tool
        return False


class Approvals:
    def __init__(self, ledger: Ledger, real_path: RealPath, tiers: Tiers) -> None:
        self._ledger = ledger
        self._real_path = real_path
        self._tiers = tiers

    async def ask(self, job_id: JobId, ask: Ask, *, takes_words: bool = True) -> Response:
        """The person's response, once the job has its slot again; a standing rule responds at once. No person in time,
        or too many waiting jobs: no. `takes_words`: the agent can be told why it is refused."""
        known = self._find_asked(job_id, ask.request_id)
        if known is not None:
            return await self._settle(job_id, known)
        if self._is_already_allowed(job_id, ask):
            return Response(request_id=ask.request_id, verdict="allow", remember=True)
        tier, subject = self._find_tier(job_id), self._find_subject(job_id, ask)
        if subject is not None and await self._is_allowed_by_rule(job_id, subject, tier):
            return Response(request_id=ask.request_id, verdict="allow")
        try:
            question = AskPerson(job_id, ask, tier=tier, subject=subject, takes_words=takes_words)
            decision = await self._ledger.record_durably(question)
        except FairleadError as refusal:
            return Response(request_id=ask.request_id, verdict="deny", message=error_text(refusal).what)
        return await self._settle(job_id, decision.question_id)

    async def _settle(self, job_id: JobId, question_id: QuestionId) -> Response:
        question = await self._until_settled(question_id)
        await self._until_running(job_id)
        return _response(question)

    def _find_asked(self, job_id: JobId, request_id: str) -> QuestionId | None:
        """Asked by an earlier process of the daemon, on behalf of a turn that runs on another machine."""
        asked = (q for q in self._ledger.state.questions.values() if q.job_id == job_id and q.request_id == request_id)
        return next((q.question_id for q in asked), None)

    async def withdraw(self, job_id: JobId, request_id: str) -> None:
        await self._ledger.record_durably(WithdrawQuestion(job_id, request_id))

    def _find_tier(self, job_id: JobId) -> str:
        workspace = self._workspace(job_id)
        return self._tiers.describe(workspace) if workspace else ""

    def _workspace(self, job_id: JobId) -> str:
        """The name of the project's workspace, which outlives a new name of the project."""
        job = self._ledger.state.jobs.get(job_id)
        project = None if job is None else self._ledger.state.projects.get(job.project)
        return "" if project is None else project.workspace_name

    def _find_subject(self, job_id: JobId, ask: Ask) -> RuleSubject | None:
        job = self._ledger.state.jobs.get(job_id)
        return None if job is None else rule_subject(ask, job.project_path, self._real_path)

    async def _is_allowed_by_rule(self, job_id: JobId, subject: RuleSubject, tier: str) -> bool:
        """The use of the rule is written before the agent hears of it."""
        workspace = self._workspace(job_id)
        if not workspace or self._tiers.forbid(workspace, subject.tool):
            return False
        decision = await self._ledger.record_durably(UseRule(job_id, subject, tier))
        return bool(decision.events)

    def _is_already_allowed(self, job_id: JobId, ask: Ask) -> bool:
        job = self._ledger.state.jobs.get(job_id)
        session = self._ledger.state.sessions.get(job.session_key) if job is not None else None
        if job is None or session is None or not isinstance(ask, PermissionRequested) or has_foreign_text(job):
            return False  # a text of somebody else's in the prompt may be what the agent now follows
        return narrow_rule(ask) in session.rules

    async def _until_settled(self, question_id: QuestionId) -> OpenQuestion:
        questions = self._ledger.state.questions
        try:
            async with asyncio.timeout(find_patience(questions[question_id], self._ledger.now())):
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


def find_patience(question: OpenQuestion, now: str) -> float:
    """Seconds to wait for an answer: never more than the question was given when it was asked, because the clock may
    have been set back since."""
    left = timestamps.seconds_between(now, question.deadline)
    return max(0.0, min(left, timestamps.seconds_between(question.asked_at, question.deadline)))


def _response(question: OpenQuestion) -> Response:
    if question.status != "answered":
        reason = question.closed_reason.replace("_", " ") or "closed"
        return Response(
            request_id=question.request_id, verdict="deny", message=f"Nobody answered the question: {reason}."
        )
    return Response(
        request_id=question.request_id,
        verdict="allow" if question.verdict == "allow" else "deny",
        chosen=question.chosen,
        message=question.message,
        remember=question.for_session,
    )
