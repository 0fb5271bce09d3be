"""Message ids, built and read in one place. A channel names what people write; Fairlead names what stands for a message
where nobody wrote one, so that each of those, too, is taken once.

    retry-JOB       a person asked for another attempt at JOB
    answer-QUESTION a person's response to QUESTION came after its job was gone
    agent-TURN      an agent began TURN by itself
    reaction-ID     a person sent message ID to the agent by a reaction
    +KEY, ID~N      an idempotency key that looks like a number, and the Nth use of one whose earlier uses were refused
"""

from typing import Final, TypeAlias

import msgspec

from fairlead.core.ids import JobId, MessageId, QuestionId

_RETRY: Final = "retry-"
_RESPONSE: Final = "answer-"
_AGENT_TURN: Final = "agent-"
_REACTION: Final = "reaction-"


class OfRetry(msgspec.Struct, frozen=True):
    job_id: JobId


class OfResponse(msgspec.Struct, frozen=True):
    question_id: QuestionId


class OfAgentTurn(msgspec.Struct, frozen=True):
    turn_id: str


class OfReaction(msgspec.Struct, frozen=True):
    """`message_id` is that of the message which the reaction stands on."""

    message_id: MessageId


class Plain(msgspec.Struct, frozen=True):
    """A message that somebody wrote, by its channel's own id."""

    message_id: MessageId


MessageIdParts: TypeAlias = OfRetry | OfResponse | OfAgentTurn | OfReaction | Plain


def retry_id(job_id: JobId) -> MessageId:
    return MessageId(f"{_RETRY}{job_id}")


def response_id(question_id: QuestionId) -> MessageId:
    return MessageId(f"{_RESPONSE}{question_id}")


def agent_turn_id(turn_id: str) -> MessageId:
    return MessageId(f"{_AGENT_TURN}{turn_id}")


def reaction_id(message_id: MessageId) -> MessageId:
    return MessageId(f"{_REACTION}{message_id}")


def idempotency_id(key: str) -> MessageId:
    """Digits get a sign before them: ids that are numbers rise from message to message, keys do not."""
    return MessageId(f"+{key}" if key.isdecimal() or key.startswith("+") else key)


def id_after_refusals(first: MessageId, number: int) -> MessageId:
    return MessageId(f"{first}~{number}")


def parse_message_id(message_id: MessageId) -> MessageIdParts:
    """What a message id says. A client's idempotency key that looks like one of Fairlead's own reads as such."""
    if message_id.startswith(_RETRY):
        return OfRetry(JobId(message_id.removeprefix(_RETRY)))
    if message_id.startswith(_RESPONSE):
        return OfResponse(QuestionId(message_id.removeprefix(_RESPONSE)))
    if message_id.startswith(_AGENT_TURN):
        return OfAgentTurn(message_id.removeprefix(_AGENT_TURN))
    if message_id.startswith(_REACTION):
        return OfReaction(MessageId(message_id.removeprefix(_REACTION)))
    return Plain(message_id)


def written_message(message_id: MessageId) -> MessageId | None:
    """The message in the conversation that this is about; None where nobody wrote one."""
    match parse_message_id(message_id):
        case Plain(written) | OfReaction(written):
            return written
        case _:
            return None
