"""What a question of an agent asks, and what a person says to it. Knows no job, no state and no channel."""

from typing import Literal

import msgspec

from fairlead.core.engine import AskedItem, Verdict
from fairlead.core.ids import JobId, QuestionId, SessionKeyText
from fairlead.core.rules import RuleOffer

QuestionKind = Literal["permission", "question", "plan"]


class QuestionFields(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """All that a person needs to decide it. The journal, the state, channels and their clients hold a question with
    these fields and add their own: a field that is added here reaches all of them.

    `tier` is what the project's agent may do now; `tier_before` is there where a person last saw another one. `offers`
    are the standing rules that the owner may make of it for `project`. With `words_go_next`, the agent cannot be told
    why it is refused: the words of a refusal become its next message. With `budget_day` it is Fairlead itself that
    asks: the budget of `project` for that day is spent, and the job has not begun. With `by_message`, the agent does
    not wait for the response: it ends its turn, and the response is a message that begins another."""

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
    tier: str = ""
    tier_before: str = ""
    offers: tuple[RuleOffer, ...] = ()
    project: str = ""
    words_go_next: bool = False
    budget_day: str = ""
    by_message: bool = False


class RespondToQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One person's response. With `partial` it answers one of several lists: the choice is kept, and the question
    stays open until something was chosen from each. `pre_authorised` says that the channel's own authorisation (a
    bearer token) has already let the person in. `via` says by which way it came: channel, conversation, connection.
    `always` makes a standing rule of one of the question's offers, counted from 1; with 0 it makes none."""

    question_id: QuestionId
    person: str
    verdict: Verdict
    chosen: dict[str, str] = {}
    message: str = ""
    for_session: bool = False
    always: int = 0
    pre_authorised: bool = False
    partial: bool = False
    via: str = ""
