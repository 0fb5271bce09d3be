"""The way in: every message, command and response of a person passes here, and only allowed people pass."""

from collections.abc import Iterator
from typing import Any

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.delivery import Acknowledge
from fairlead.core.decide.messages import is_allowed
from fairlead.core.decide.questions import RefuseAgentRequest, RemindOfQuestion
from fairlead.core.decide.sessions import SeePerson, TitleSession
from fairlead.core.events import TitledBy
from fairlead.core.hook_deliveries import Delivery
from fairlead.core.ids import EntryId, JobId, QuestionId, SessionKeyText
from fairlead.core.inbound import Inbound, clean_text
from fairlead.core.questions import RespondToQuestion
from fairlead.core.replies import Reply
from fairlead.core.requests import Caller, Request
from fairlead.core.state import answer_entry_id
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.commands.handlers import CommandHandlers
from fairlead.flow.hooks.deliveries import HookDeliveries
from fairlead.flow.intake.messages import MessageIntake
from fairlead.flow.ledger import Ledger
from fairlead.flow.outbox.channel_reconnects import ChannelReconnects
from fairlead.observe import log, log_failure
from fairlead.ports import HookReceipt, Receipt


class FlowGate:
    def __init__(
        self,
        ledger: Ledger,
        intake: MessageIntake,
        commands: CommandHandlers,
        reconnects: ChannelReconnects,
        *,
        hooks: HookDeliveries,
    ) -> None:
        self._ledger = ledger
        self._intake = intake
        self._commands = commands
        self._reconnects = reconnects
        self._hooks = hooks

    def allows(self, person: str, *, pre_authorised: bool = False) -> bool:
        return is_allowed(self._ledger.state, person, self._ledger.limits, pre_authorised=pre_authorised)

    async def submit(self, inbound: Inbound) -> Receipt:
        try:
            return await self._intake.submit(inbound)
        except FairleadError as refusal:
            log_failure("message refused", refusal, conversation=inbound.conversation.address)
            raise

    async def take_event(self, delivery: Delivery) -> HookReceipt:
        try:
            return await self._hooks.take(delivery)
        except FairleadError as refusal:
            log_failure("event refused", refusal, hook=delivery.hook[:60])
            raise

    async def skip(self, inbound: Inbound, reason: str) -> None:
        await self._intake.skip(inbound, reason)

    async def amend(self, conversation: ConversationRef, message_id: str, text: str) -> bool:
        return await self._intake.amend(conversation, message_id, text)

    async def withdraw(self, conversation: ConversationRef, message_id: str) -> bool:
        return await self._intake.withdraw(conversation, message_id)

    async def command(self, request: Request, caller: Caller) -> Reply:
        try:
            _refuse_nul(request)
            return await self._commands.run(request, caller)
        except FairleadError as refusal:
            log_failure("command refused", refusal, command=type(request).__name__)
            raise
        except Exception as fault:  # a command that crashes must not take its channel with it
            log_failure("command crashed", fault, command=type(request).__name__)
            raise FairleadError(Code.E_INTERNAL) from fault

    async def respond(self, response: RespondToQuestion) -> str:
        self._ledger.check_disk_space()
        clean = msgspec.structs.replace(
            response,
            chosen={question: clean_text(chosen) for question, chosen in response.chosen.items()},
            message=clean_text(response.message),
        )
        return (await self._ledger.record_durably(clean)).job_id

    async def report_agent_request(self, job_id: str, request: str, program: str) -> None:
        log.warning("an agent asked as if it were a person", job_id=job_id, request=request, message=program)
        if not self._ledger.is_stalled:
            await self._ledger.record_durably(RefuseAgentRequest(JobId(job_id), request, program))

    async def acknowledge(self, job_id: str) -> None:
        await self._ledger.record_durably(Acknowledge(answer_entry_id(JobId(job_id))))

    async def acknowledge_message(self, sent_id: str) -> None:
        await self._ledger.record_durably(Acknowledge(EntryId(sent_id)))

    async def remind(self, question_id: str, conversation: ConversationRef, link: str) -> None:
        await self._ledger.record_durably(RemindOfQuestion(QuestionId(question_id), conversation, link))

    async def title_session(self, session_key: str, title: str, by: TitledBy) -> None:
        await self._ledger.record_durably(TitleSession(SessionKeyText(session_key), title, by))

    async def see_person(self, person: str, locale: str) -> None:
        await self._ledger.record_durably(SeePerson(person, locale))

    def came_back(self, channel: str) -> None:
        self._reconnects.report_return(channel)


def _refuse_nul(request: Request) -> None:
    """No program takes an argument with a NUL, and no file has one in its name."""
    if any("\0" in text for text in _texts_in(msgspec.to_builtins(request))):
        raise error(Code.E_INVALID_ARGS, "An argument holds a NUL character.")


def _texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from _texts_in([*value.keys(), *value.values()])  # pyright: ignore[reportUnknownArgumentType]
        case list() | tuple():
            for part in value:  # pyright: ignore[reportUnknownVariableType]
                yield from _texts_in(part)
        case _:
            return
