"""What became of a text that was meant for a turn which runs, in words."""

from typing import Final

from fairlead.core.job_names import short_name
from fairlead.core.replies import TurnSteered
from fairlead.render.safe_text import one_line
from fairlead.render.words import say

_REASONS: Final = {
    "no_turn": "status.steer.no_turn",
    "unsupported": "status.steer.unsupported",
    "too_late": "status.steer.too_late",
    "refused": "status.steer.refused",
}
_DETAIL: Final = 200


def describe_reason(reason: str, lang: str, detail: str = "") -> str:
    """Why the text waits as an ordinary message; "" for a reason that only a newer version knows."""
    key = _REASONS.get(reason)
    return "" if key is None else say(lang, key, detail=one_line(detail, _DETAIL))


def describe_steered(reply: TurnSteered, lang: str) -> str:
    own, job = short_name(reply.job_id), short_name(reply.into)
    match reply.state:
        case "steered":
            return say(lang, "reply.TurnSteered.taken", job=job)
        case "steering":
            return say(lang, "reply.TurnSteered.given", job=job)
        case "queued":
            return say(lang, "reply.TurnSteered.queued", own=own, reason=describe_reason(reply.reason, lang))
        case _:
            return say(lang, "reply.TurnSteered.running", own=own)
