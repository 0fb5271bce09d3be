"""What an agent's own words about a failure mean: which code, and whether trying again may help. Pure."""

import re

import msgspec

from fairlead.core.engine import TurnFailed
from fairlead.errors import Code

EXPLANATION = 2000

_TRANSIENT_STATUS = frozenset({408, 429, 500, 502, 503, 504, 522, 524, 529})
_LOGIN_STATUS = frozenset({401, 403})

_RESUME_GONE = re.compile(
    r"no conversation found with session id|no rollout found for thread|error resuming session"
    r"|invalid session identifier|session not found|no saved session found",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"unauthori[sz]ed|unauthenticated|authentication[_ ](?:failed|error)|not logged in|please (?:run )?/?log ?in"
    r"|invalid (?:x-)?api[- _]key|api key not valid|oauth token (?:has )?expired|set an auth method",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"issue with the selected model|model[^\n]{0,80}(?:does not exist|not found)|models/\S+ is not found"
    r"|unknown model|model_not_found",
    re.IGNORECASE,
)
_TRANSIENT = re.compile(
    r"rate[- _]?limit|too many requests|overloaded|quota|resource[_ ]exhausted|try again later"
    r"|econnreset|econnrefused|etimedout|eai_again|enetunreach|epipe|socket hang up|fetch failed"
    r"|stream disconnected|connection (?:reset|refused|closed|error|failed|aborted|timed out)"
    r"|network error|request timed out|service unavailable|bad gateway|gateway timeout|internal server error",
    re.IGNORECASE,
)
_STATUS = re.compile(r"(?:status(?: code)?|error|code\"?)[:\s(]*([45]\d\d)\b|\(([45]\d\d)\)", re.IGNORECASE)
_DISK = re.compile(r"enospc|no space left on device|disk quota exceeded", re.IGNORECASE)


class Classification(msgspec.Struct, frozen=True):
    code: Code
    transient: bool = False


def classify(words: str, *, status: int | None = None, otherwise: Code = Code.E_AGENT_ERROR) -> Classification:
    """`words` are the agent's error message, never its answer: an answer may well speak of rate limits."""
    seen = status or status_in(words)
    if _RESUME_GONE.search(words):
        return Classification(Code.E_RESUME_GONE)
    if _DISK.search(words):
        return Classification(Code.E_AGENT_ERROR)
    if _MODEL.search(words):
        return Classification(Code.E_MODEL_UNAVAILABLE)
    if seen in _LOGIN_STATUS or (seen is None and _LOGIN.search(words)):
        return Classification(Code.E_CLI_NOT_LOGGED_IN)
    if seen in _TRANSIENT_STATUS or (seen is None and _TRANSIENT.search(words)):
        return Classification(Code.E_AGENT_ERROR, transient=True)
    return Classification(otherwise)


def status_in(words: str) -> int | None:
    found = _STATUS.search(words)
    return None if found is None else int(found.group(1) or found.group(2))


def failure_from(
    words: str, *, status: int | None = None, otherwise: Code = Code.E_AGENT_ERROR, text: str = ""
) -> TurnFailed:
    fault = classify(words, status=status, otherwise=otherwise)
    return TurnFailed(fault.code, in_plain_words(fault.code, words), text, fault.transient)


def in_plain_words(code: Code, words: str) -> str:
    """The agent's own sentence; where it does not tell what happened, Fairlead's sentence stands before it."""
    said = shorten(words)
    if code is Code.E_RESUME_GONE:
        return f"The agent no longer knows this conversation, so nothing was run. It said: {said}"
    return said


def shorten(words: str) -> str:
    said = words.strip()
    return said if len(said) <= EXPLANATION else said[:EXPLANATION] + " …"
