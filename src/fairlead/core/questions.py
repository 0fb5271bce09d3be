"""What a question of an agent asks, and what a person says to it. Knows no job, no state and no channel."""

from typing import Literal

import msgspec

from fairlead.core.engine import AskedItem, Verdict
from fairlead.core.ids import JobId, QuestionId, SessionKeyText

QuestionKind = Literal["permission", "question", "plan"]


class QuestionFields(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """All that a person needs to decide it. The journal, the state, channels and their clients hold a question with
    these fields and add their own: a field that is added here reaches all of them."""

    question_id: QuestionId
    job_id: JobId
    session_key: SessionKeyText
    kind: QuestionKind
    title: str
    deadline: str
    tool: str = ""
    detail: str = ""
    diff: str = ""
    rule: str = ""
    items: tuple[AskedItem, ...] = ()


class RespondToQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One person's response. With `partial` it answers one of several lists: the choice is kept, and the question
    stays open until something was chosen from each. `pre_authorised` says that the channel's own authorisation (a
    bearer token) has already let the person in."""

    question_id: QuestionId
    person: str
    verdict: Verdict
    chosen: dict[str, str] = {}
    message: str = ""
    for_session: bool = False
    pre_authorised: bool = False
    partial: bool = False
