"""What an agent's own words about a failure mean: which code, and whether trying again may help. Pure."""

import re

import msgspec

from fairlead.core.engine import TurnFailed
from fairlead.errors import Code

EXPLANATION = 2000

_TRANSIENT_STATUS = frozenset({408, 429, 500, 502, 503, 504, 522, 524, 529})
_LOGIN_STATUS = frozenset({401, 403})

# Plain texts, which Python compiles at the first failure: most daemons see few.
_RESUME_GONE = (
    r"no conversation found with session id|no rollout found for thread|error resuming session"
    r"|invalid session identifier|session not found|no saved session found|no message found with message\.uuid"
    r"|fork point message \S+ was not found"
)
_LOGIN = (
    r"unauthori[sz]ed|unauthenticated|authentication[_ ](?:failed|error)|not logged in|please (?:run )?/?log ?in"
    r"|invalid (?:x-)?api[- _]key|api key not valid|oauth token (?:has )?expired|set an auth method"
    r"|missing environment variable: `"
)
_MISSING_VARIABLE = r"missing environment variable: `(\w+)`"
_MODEL = (
    r"issue with the selected model|model[^\n]{0,80}(?:does not exist|not found)|models/\S+ is not found"
    r"|unknown model|model_not_found"
)
_TRANSIENT = (
    r"rate[- _]?limit|too many requests|overloaded|quota|resource[_ ]exhausted|try again later"
    r"|econnreset|econnrefused|etimedout|eai_again|enetunreach|epipe|socket hang up|fetch failed"
    r"|stream disconnected|connection (?:reset|refused|closed|error|failed|aborted|timed out)"
    r"|network error|request timed out|service unavailable|bad gateway|gateway timeout|internal server error"
    r"|experiencing high demand|temporary errors|api error: terminated"
)
_CONTEXT_FULL = (
    r"prompt is too long|input is too long for requested model|ran out of room in the model's context window"
    r"|context[_ ]length[_ ]exceeded|exceeds the context window|maximum context length"
    r"|exceeds the maximum number of tokens"
)
_BUDGET_SPENT = r"reached maximum budget"
_STATUS = r"(?:status(?: code)?|error|code\"?)[:\s(]*([45]\d\d)\b|\(([45]\d\d)\)"
_WRITTEN_ELSEWHERE = r"already has an active writer"
_DISK = r"enospc|no space left on device|disk quota exceeded"
_WHATEVER_THE_STATUS = (
    (_RESUME_GONE, Code.E_RESUME_GONE),
    (_WRITTEN_ELSEWHERE, Code.E_SESSION_IN_USE),
    (_DISK, Code.E_AGENT_ERROR),
    (_CONTEXT_FULL, Code.E_CONTEXT_FULL),
    (_BUDGET_SPENT, Code.E_BUDGET_SPENT),
    (_MODEL, Code.E_MODEL_UNAVAILABLE),
)


class Classification(msgspec.Struct, frozen=True):
    code: Code
    transient: bool = False


def classify(words: str, *, status: int | None = None, otherwise: Code = Code.E_AGENT_ERROR) -> Classification:
    """`words` are the agent's error message, never its answer: an answer may well speak of rate limits."""
    for pattern, code in _WHATEVER_THE_STATUS:
        if _find(pattern, words):
            return Classification(code)
    seen = status or status_in(words)
    if seen in _LOGIN_STATUS or (seen is None and _find(_LOGIN, words)):
        return Classification(Code.E_CLI_NOT_LOGGED_IN)
    if seen in _TRANSIENT_STATUS or (seen is None and _find(_TRANSIENT, words)):
        return Classification(Code.E_AGENT_ERROR, transient=True)
    return Classification(otherwise)


def _find(pattern: str, words: str) -> re.Match[str] | None:
    return re.search(pattern, words, re.IGNORECASE)


def status_in(words: str) -> int | None:
    found = _find(_STATUS, words)
    return None if found is None else int(found.group(1) or found.group(2))


def failure_from(
    words: str, *, status: int | None = None, otherwise: Code = Code.E_AGENT_ERROR, text: str = ""
) -> TurnFailed:
    fault = classify(words, status=status, otherwise=otherwise)
    return TurnFailed(fault.code, in_plain_words(fault.code, words), text, fault.transient)


def missing_variable(words: str) -> str:
    """The name of the variable, an API key, that codex wants and does not have; empty if it wants none."""
    found = _find(_MISSING_VARIABLE, words)
    return "" if found is None else found.group(1)


def in_plain_words(code: Code, words: str) -> str:
    """The agent's own sentence; where it does not tell what happened, Fairlead's sentence stands before it."""
    said = shorten(words)
    if code is Code.E_RESUME_GONE:
        return f"The agent no longer knows this conversation, so nothing was run. It said: {said}"
    return said


def shorten(words: str) -> str:
    said = words.strip()
    return said if len(said) <= EXPLANATION else said[:EXPLANATION] + " …"
