"""Message ids, built and read in one place. A channel names what people write; Fairlead names what stands for a message
where nobody wrote one, so that each of those, too, is taken once.

    retry-JOB       a person asked for another attempt at JOB
    answer-QUESTION a person's response to QUESTION came after its job was gone
    agent-TURN      an agent began TURN by itself
    reaction-ID     a person sent message ID to the agent by a reaction
    chosen-ID       a person chose the project for message ID, which had been refused without one
    command-ID      a person sent a slash command of the agent's own; ID is that of the request
    spawn-ID        somebody asked for a session of its own for a task; ID is that of the request
    child-JOB       JOB, the task of a spawned session, has ended, and the session that asked hears of it
    hook-NAME-KEY   an event of the hook NAME; KEY is the same whenever the event is sent again
    schedule-N-TICK schedule N fired at TICK, its nominal time in UTC
    schedule-N-by-ID a person ran schedule N by hand; ID is that of the request
    merge-N-SEQ     worktree N could not be merged, and its agent is asked to resolve the conflicts
    +KEY            an idempotency key that looks like a number, or like one of the ids above; `~` in it is `%7E`
    ID~N            the Nth use of an idempotency key whose earlier uses were refused
"""

from typing import Final, TypeAlias

import msgspec

from fairlead.core.ids import JobId, MessageId, QuestionId

_RETRY: Final = "retry-"
_RESPONSE: Final = "answer-"
_AGENT_TURN: Final = "agent-"
_REACTION: Final = "reaction-"
_CHOICE: Final = "chosen-"
_COMMAND: Final = "command-"
_SPAWN: Final = "spawn-"
_CHILD: Final = "child-"
_HOOK: Final = "hook-"
_SCHEDULE: Final = "schedule-"
_BY_HAND: Final = "by-"
_MERGE: Final = "merge-"
_OURS: Final = (_RETRY, _RESPONSE, _AGENT_TURN, _REACTION, _CHOICE, _COMMAND, _SPAWN, _CHILD, _HOOK, _SCHEDULE, _MERGE)


class OfRetry(msgspec.Struct, frozen=True):
    job_id: JobId


class OfResponse(msgspec.Struct, frozen=True):
    question_id: QuestionId


class OfAgentTurn(msgspec.Struct, frozen=True):
    turn_id: str


class OfReaction(msgspec.Struct, frozen=True):
    """`message_id` is that of the message which the reaction stands on."""

    message_id: MessageId


class OfChoice(msgspec.Struct, frozen=True):
    """`message_id` is that of the message which waited for a project."""

    message_id: MessageId


class OfCommand(msgspec.Struct, frozen=True):
    asked_by: str


class OfSpawn(msgspec.Struct, frozen=True):
    asked_by: str


class OfChild(msgspec.Struct, frozen=True):
    """`job_id` is that of the task which has ended."""

    job_id: JobId


class OfHook(msgspec.Struct, frozen=True):
    """`event` is the hook's name, and the event's key."""

    event: str


class OfSchedule(msgspec.Struct, frozen=True):
    """`tick` is its nominal time; empty for a run by hand."""

    number: int
    tick: str = ""


class OfMerge(msgspec.Struct, frozen=True):
    """`number` is that of the worktree."""

    number: int


class Plain(msgspec.Struct, frozen=True):
    """A message that somebody wrote, by its channel's own id."""

    message_id: MessageId


MessageIdParts: TypeAlias = (
    OfRetry
    | OfResponse
    | OfAgentTurn
    | OfReaction
    | OfChoice
    | OfCommand
    | OfSpawn
    | OfChild
    | OfHook
    | OfSchedule
    | OfMerge
    | Plain
)


def retry_id(job_id: JobId) -> MessageId:
    return MessageId(f"{_RETRY}{job_id}")


def response_id(question_id: QuestionId) -> MessageId:
    return MessageId(f"{_RESPONSE}{question_id}")


def agent_turn_id(turn_id: str) -> MessageId:
    return MessageId(f"{_AGENT_TURN}{turn_id}")


def reaction_id(message_id: MessageId) -> MessageId:
    return MessageId(f"{_REACTION}{message_id}")


def choice_id(message_id: MessageId) -> MessageId:
    return MessageId(f"{_CHOICE}{message_id}")


def command_id(asked_by: str) -> MessageId:
    return MessageId(f"{_COMMAND}{asked_by}")


def spawn_id(asked_by: str) -> MessageId:
    return MessageId(f"{_SPAWN}{asked_by}")


def child_id(job_id: JobId) -> MessageId:
    return MessageId(f"{_CHILD}{job_id}")


def hook_id(name: str, key: str) -> MessageId:
    return MessageId(f"{_HOOK}{name}-{key}")


def tick_id(number: int, tick: str) -> MessageId:
    return MessageId(f"{_SCHEDULE}{number}-{tick}")


def hand_run_id(number: int, asked_by: str) -> MessageId:
    return MessageId(f"{_SCHEDULE}{number}-{_BY_HAND}{asked_by}")


def merge_id(number: int, seq: int) -> MessageId:
    """`seq` is that of the state when it was decided: one worktree may conflict more than once."""
    return MessageId(f"{_MERGE}{number}-{seq}")


def idempotency_id(key: str) -> MessageId:
    """An id that no other key has, and that is none of Fairlead's own. Digits get a sign before them, because ids that
    are numbers rise from message to message; so do keys that look like ids of Fairlead's. No key may have a `%`."""
    is_signed = key.isdecimal() or key.startswith(("+", *_OURS))
    return MessageId(f"{'+' if is_signed else ''}{key.replace('~', '%7E')}")


def id_after_refusals(first: MessageId, number: int) -> MessageId:
    return MessageId(f"{first}~{number}")


def parse_message_id(message_id: MessageId) -> MessageIdParts:
    """What a message id says."""
    if message_id.startswith(_RETRY):
        return OfRetry(JobId(message_id.removeprefix(_RETRY)))
    if message_id.startswith(_RESPONSE):
        return OfResponse(QuestionId(message_id.removeprefix(_RESPONSE)))
    if message_id.startswith(_AGENT_TURN):
        return OfAgentTurn(message_id.removeprefix(_AGENT_TURN))
    if message_id.startswith(_REACTION):
        return OfReaction(MessageId(message_id.removeprefix(_REACTION)))
    if message_id.startswith(_CHOICE):
        return OfChoice(MessageId(message_id.removeprefix(_CHOICE)))
    if message_id.startswith(_COMMAND):
        return OfCommand(message_id.removeprefix(_COMMAND))
    if message_id.startswith(_SPAWN):
        return OfSpawn(message_id.removeprefix(_SPAWN))
    if message_id.startswith(_CHILD):
        return OfChild(JobId(message_id.removeprefix(_CHILD)))
    if message_id.startswith(_HOOK):
        return OfHook(message_id.removeprefix(_HOOK))
    if message_id.startswith(_SCHEDULE):
        number, _, rest = message_id.removeprefix(_SCHEDULE).partition("-")
        if number.isdecimal():
            return OfSchedule(int(number), "" if rest.startswith(_BY_HAND) else rest)
    if message_id.startswith(_MERGE):
        number = message_id.removeprefix(_MERGE).partition("-")[0]
        if number.isdecimal():
            return OfMerge(int(number))
    return Plain(message_id)


def written_message(message_id: MessageId) -> MessageId | None:
    """The message in the conversation that this is about; None where nobody wrote one."""
    match parse_message_id(message_id):
        case Plain(written) | OfReaction(written) | OfChoice(written):
            return written
        case _:
            return None
