"""The way in: every message, command and response of a person passes here, and only allowed people pass."""

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.delivery import Acknowledge
from fairlead.core.decide.messages import is_allowed
from fairlead.core.decide.sessions import SeePerson
from fairlead.core.ids import JobId
from fairlead.core.inbound import Inbound, clean_text
from fairlead.core.questions import RespondToQuestion
from fairlead.core.replies import Reply
from fairlead.core.requests import Caller, Request
from fairlead.core.state import answer_entry_id
from fairlead.errors import Code, FairleadError
from fairlead.flow.commands.handlers import CommandHandlers
from fairlead.flow.intake.messages import MessageIntake
from fairlead.flow.ledger import Ledger
from fairlead.flow.outbox.channel_reconnects import ChannelReconnects
from fairlead.observe import log_failure
from fairlead.ports import Receipt


class FlowGate:
    def __init__(
        self, ledger: Ledger, intake: MessageIntake, commands: CommandHandlers, reconnects: ChannelReconnects
    ) -> None:
        self._ledger = ledger
        self._intake = intake
        self._commands = commands
        self._reconnects = reconnects

    def allows(self, person: str, *, pre_authorised: bool = False) -> bool:
        return is_allowed(self._ledger.state, person, self._ledger.limits, pre_authorised=pre_authorised)

    async def submit(self, inbound: Inbound) -> Receipt:
        try:
            return await self._intake.submit(inbound)
        except FairleadError as refusal:
            log_failure("message refused", refusal, conversation=inbound.conversation.address)
            raise

    async def skip(self, inbound: Inbound, reason: str) -> None:
        await self._intake.skip(inbound, reason)

    async def amend(self, conversation: ConversationRef, message_id: str, text: str) -> bool:
        return await self._intake.amend(conversation, message_id, text)

    async def withdraw(self, conversation: ConversationRef, message_id: str) -> bool:
        return await self._intake.withdraw(conversation, message_id)

    async def command(self, request: Request, caller: Caller) -> Reply:
        try:
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

    async def acknowledge(self, job_id: str) -> None:
        await self._ledger.record_durably(Acknowledge(answer_entry_id(JobId(job_id))))

    async def see_person(self, person: str, locale: str) -> None:
        await self._ledger.record_durably(SeePerson(person, locale))

    def came_back(self, channel: str) -> None:
        self._reconnects.report_return(channel)
