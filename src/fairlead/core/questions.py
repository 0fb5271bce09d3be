"""What a question of an agent asks, and what a person says to it. Knows no job, no state and no channel."""

import msgspec

from fairlead.core.engine import Verdict


class RespondToQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One person's response. With `partial` it answers one of several lists: the choice is kept, and the question
    stays open until something was chosen from each. `pre_authorised` says that the channel's own authorisation (a
    bearer token) has already let the person in."""

    question_id: str
    person: str
    verdict: Verdict
    chosen: dict[str, str] = {}
    message: str = ""
    for_session: bool = False
    pre_authorised: bool = False
    partial: bool = False
