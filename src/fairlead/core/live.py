"""Live events: what watchers see of a job while it runs. After a restart nothing here is needed."""

from typing import Literal, TypeAlias

import msgspec

from fairlead.core.engine import EngineEvent
from fairlead.core.events import SteeringReason
from fairlead.core.job_states import Held, JobState
from fairlead.core.rules import RuleOffer
from fairlead.core.views import QuestionView, SentView


class JobMoved(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=True, omit_defaults=True):
    """A job is in another state than before. `position` counts the jobs before it while it is queued."""

    job_id: str
    session_key: str
    state: JobState
    position: int = 0
    held: Held = ""
    runtime: str = ""
    machine: str = ""
    machine_away_since: str = ""
    """The other machine that it runs on, or will; and since when that is not connected, empty if it is."""
    error_code: str = ""
    error_message: str = ""
    steered_into: str = ""
    """The job whose turn the text is on its way to, or was taken into."""


class AgentActed(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    job_id: str
    session_key: str
    event: EngineEvent


class QuestionOpened(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    job_id: str
    session_key: str
    question: QuestionView


class QuestionSettled(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    """A person responded, or the question was closed without that: the question says which."""

    job_id: str
    session_key: str
    question: QuestionView


class RuleApplied(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    """A standing rule allowed what the agent asked for; nobody was asked."""

    job_id: str
    session_key: str
    number: int
    offer: RuleOffer


class SteeringTold(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    """A text that was meant for the turn that runs is an ordinary message after all; `reason` says why."""

    job_id: str
    session_key: str
    reason: SteeringReason
    detail: str = ""


class AnswerSettled(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    """The person has the whole answer, or its delivery was given up."""

    job_id: str
    session_key: str
    is_delivered: bool


class AgentSent(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    """The agent sent something by itself; the outbox brings it to the person."""

    job_id: str
    session_key: str
    sent: SentView


Record: TypeAlias = Literal["session", "project", "schedule", "budget", "message", "delivery", "turn", "machine"]


class RecordChanged(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=True):
    """Something that pages list is another than before, and no job moved: a session's agent or title, a project, a
    schedule, a budget, what became of a message, a delivery, the files of a turn, a machine."""

    what: Record
    job_id: str = ""
    session_key: str = ""


LiveEvent: TypeAlias = (
    JobMoved
    | AgentActed
    | QuestionOpened
    | QuestionSettled
    | RuleApplied
    | SteeringTold
    | AnswerSettled
    | AgentSent
    | RecordChanged
)
