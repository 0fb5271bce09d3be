"""The command `steer`: a text, or a message that waits, for the turn that runs. The turn gives it to the agent."""

import asyncio
from contextlib import suppress
from typing import Final

from fairlead.core import message_ids
from fairlead.core import requests as ask
from fairlead.core.decide.steering import AskToSteer
from fairlead.core.ids import JobId
from fairlead.core.inbound import Inbound
from fairlead.core.job_names import find_job_id
from fairlead.core.replies import TurnSteered
from fairlead.core.requests import Caller
from fairlead.core.state import Session
from fairlead.core.visibility import may_see
from fairlead.errors import Code, error
from fairlead.flow.commands.parts import CommandParts, HandlerTable

REPLY_WITHIN_SEC: Final = 2.0
"""An agent may take a text only after minutes: the reply says how far it is by then."""


def steering_handlers(parts: CommandParts) -> HandlerTable:
    return {ask.SteerTurn: SteeringCommands(parts).steer}


class SteeringCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts

    async def steer(self, request: ask.SteerTurn, caller: Caller) -> TurnSteered:
        session = self._parts.managed_session(caller)
        named = self._named_job(request, session)
        if request.text.strip() and named is None:
            job_id = await self._submit(request, caller)
        else:
            job_id = await self._ask(session, named or JobId(request.job_id), caller)
        await self._until_told(job_id)
        return self._reply(job_id)

    def _named_job(self, request: ask.SteerTurn, session: Session) -> JobId | None:
        """A job of this session that waits, by its name or number; any other words are a text."""
        name = request.job_id or request.text.strip()
        job_id = find_job_id(self._parts.state.jobs, name) if request.job_id or name.startswith(("#", "job_")) else ""
        return JobId(job_id) if job_id in session.queue else None

    async def _submit(self, request: ask.SteerTurn, caller: Caller) -> JobId:
        """Goes the way of every message, so that it is taken once and never lost."""
        receipt = await self._parts.intake.submit(
            Inbound(
                conversation=caller.conversation,
                session_key=caller.session_key,
                message_id=message_ids.command_id(request.asked_by),
                person=caller.person,
                text=request.text,
                pre_authorised=caller.pre_authorised,
                steers=True,
            )
        )
        return JobId(receipt.job_id)

    async def _ask(self, session: Session, job_id: JobId, caller: Caller) -> JobId:
        if not may_see(self._parts.state, session.session_key, caller):
            raise error(Code.E_JOB_NOT_FOUND)
        decision = await self._parts.ledger.record_durably(AskToSteer(session.session_key, caller.person, job_id))
        return decision.job_id

    async def _until_told(self, job_id: JobId) -> None:
        ledger = self._parts.ledger
        with suppress(TimeoutError):
            async with asyncio.timeout(REPLY_WITHIN_SEC):
                while (job := ledger.state.jobs.get(job_id)) is not None and (job.steers or job.state == "steering"):
                    await ledger.until_changed(ledger.state.seq)

    def _reply(self, job_id: JobId) -> TurnSteered:
        job = self._parts.state.jobs.get(job_id)
        if job is None:
            raise error(Code.E_JOB_NOT_FOUND)
        return TurnSteered(job_id=job_id, state=job.state, into=job.steered_into, reason=job.steering_reason)
