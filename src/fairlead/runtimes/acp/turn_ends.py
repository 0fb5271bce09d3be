"""How a turn of an ACP agent ends, in words and codes: its stop reasons, its refusals, its exits, its usage. Pure."""

import re
import shlex
from typing import Any, Final

import msgspec

from fairlead.core.engine import INTERRUPTED, Diagnostic, EngineEvent, Noticed, TurnEnded, TurnFailed, UsageReported
from fairlead.errors import Code
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.quirks import Quirks
from fairlead.runtimes.acp.translate import SessionFacts, as_dict
from fairlead.runtimes.faults import failure_from
from fairlead.runtimes.translator import Exit, exit_failure

PROTOCOL_VERSION: Final = 1
AUTH_REQUIRED: Final = -32000
METHOD_NOT_FOUND: Final = -32601
REFUSED: Final = "refused"
MOST_KNOWN: Final = 1000
_LIMITS: Final = {
    "max_tokens": "The agent reached its token limit for one answer, so it may be incomplete. Ask it to continue.",
    "max_turn_requests": "The agent reached its limit of requests for one turn and stopped. Ask it to continue.",
}

# opencode switches its database to another journal before it says how long it is ready to wait, and makes the tables
# of a new one without looking whether another program has just made them.
_DISTURBED: Final = re.compile(r"database (?:table )?is locked|SQLITE_BUSY|table \S+ already exists", re.IGNORECASE)


class AgentRefused(Exception):  # noqa: N818 - says what happened
    """The agent answered a request with an error; `may_pass`: and says itself that asking again may help."""

    def __init__(self, code: int, words: str, *, may_pass: bool = False) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.may_pass = may_pass


class AgentGone(Exception):  # noqa: N818 - says what happened
    """There is no agent that could go on with the turn. `is_wanted`: because somebody ended it."""

    def __init__(self, failure: TurnFailed, *, is_wanted: bool = False) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.is_wanted = is_wanted


# --- before the first prompt ---------------------------------------------------------------------------------------


def no_connection(words: str) -> TurnFailed:
    return TurnFailed(Code.E_ACP_CONNECTION, words)


def check_version(agent: wire.Initialized) -> TurnFailed | None:
    if agent.protocol_version == PROTOCOL_VERSION:
        return None
    return no_connection(
        f"The agent speaks version {agent.protocol_version} of the Agent Client Protocol;"
        f" Fairlead speaks version {PROTOCOL_VERSION}."
    )


def exit_at_start(end: Exit) -> TurnFailed:
    failure = exit_failure(end)
    if failure.code is not Code.E_CLI_EXIT_NONZERO:
        return failure
    return no_connection(failure.message)


def was_disturbed(end: Exit) -> bool:
    """Whether a program ended at its start because another one was opening the same database: the next start may go
    well, and nothing was asked of the agent yet."""
    return bool(end.returncode) and _DISTURBED.search(end.stderr) is not None


def refused_session(
    refusal: AgentRefused, agent: wire.Initialized, argv: tuple[str, ...], resume_key: str | None
) -> TurnFailed:
    if refusal.code == AUTH_REQUIRED:
        return not_logged_in(refusal, agent, argv)
    failure = failure_from(refusal.words)
    if failure.code is not Code.E_AGENT_ERROR or failure.transient:
        return failure
    # Agents have many words for a session that they no longer know, and hardly any other reason to refuse one.
    return no_connection(failure.message) if resume_key is None else failure_from(f"session not found: {refusal.words}")


def not_logged_in(refusal: AgentRefused, agent: wire.Initialized, argv: tuple[str, ...]) -> TurnFailed:
    """With the agent's own ways to log in, and the command to type where there is one."""
    ways = [_way_to_log_in(method, argv) for method in agent.auth_methods or ()]
    listed = "".join(f"\n- {way}" for way in ways)
    return TurnFailed(Code.E_CLI_NOT_LOGGED_IN, f"{refusal.words}{listed}")


def _way_to_log_in(method: wire.AuthMethod, argv: tuple[str, ...]) -> str:
    name = method.name or method.id
    if method.type == "terminal":
        return f"{name}: run `{shlex.join((*argv, *(method.args or ())))}`"
    names = [variable.name for variable in method.vars or () if variable.name]
    if names:
        return f"{name}: set {', '.join(names)}"
    return f"{name}: {method.description}" if method.description else name


# --- the end of a prompt -------------------------------------------------------------------------------------------


def end_of(
    prompted: wire.Prompted,
    text: str,
    quirks: Quirks,
    *,
    is_interrupted: bool,
    has_refused: bool,
    failure: str = "",
) -> list[EngineEvent]:
    """`failure` is what the agent said about the failure of its model, see `Quirks.error_mark`."""
    if is_interrupted:
        return [TurnEnded(text, INTERRUPTED)]
    match prompted.stop_reason:
        case "end_turn" if failure:
            return [failure_from(failure, text=text.removesuffix(failure).rstrip())]
        case "end_turn" if quirks.error_text and (found := re.search(quirks.error_text, text)):
            return [failure_from(text[found.start() :], text=text[: found.start()].rstrip())]
        case "end_turn":
            return [TurnEnded(text)]
        case "cancelled" if has_refused and quirks.rejection_cancels:
            return [TurnEnded(text or "The agent stopped, because it was denied permission.", REFUSED)]
        case "cancelled":
            return [TurnEnded(text, INTERRUPTED)]
        case "refusal":
            words = "The agent refused this request and will not remember it."
            return [TurnFailed(Code.E_AGENT_ERROR, words, text)]
        case limit if limit in _LIMITS:
            return [Noticed(_LIMITS[limit]), TurnEnded(text, limit)]
        case other:
            return [
                Diagnostic(f"The agent ended its turn for an unknown reason: {other!r}"),
                TurnEnded(text, other),
            ]


def refused_prompt(refusal: AgentRefused, agent: wire.Initialized, argv: tuple[str, ...], text: str) -> TurnFailed:
    if refusal.code == AUTH_REQUIRED:
        return not_logged_in(refusal, agent, argv)
    # Gemini and Qwen give the status of the model's HTTP response as the code of the error.
    status = refusal.code if 400 <= refusal.code < 600 else None
    is_told = status is None or str(status) in refusal.words
    words = refusal.words if is_told else f"HTTP status {status}: {refusal.words}"
    return failure_from(words, status=status, text=_without_the_error(text, refusal.words))


def _without_the_error(text: str, words: str) -> str:
    """Some agents say an error as their last message too: a person reads it once."""
    before, _, last = text.rpartition("\n\n")
    return before if last and words.endswith(last) else text


def exit_in_turn(end: Exit, text: str) -> TurnFailed:
    return exit_failure(end, text)


def silent_too_long(seconds: float, text: str) -> TurnFailed:
    minutes = f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds:g} s"
    return TurnFailed(Code.E_ACP_TIMEOUT, f"The agent sent no update for {minutes}, so its session was ended.", text)


# --- usage ---------------------------------------------------------------------------------------------------------


class Totals(msgspec.Struct):
    """What the session had used before this turn; not known for a session that an earlier Fairlead has begun."""

    usage: wire.Usage = wire.Usage()
    cost_usd: float = 0.0
    is_known: bool = True

    def usage_of(
        self, prompted: wire.Prompted, facts: SessionFacts, quirks: Quirks, counted: wire.Usage | None = None
    ) -> list[EngineEvent]:
        """`counted` are the tokens that updates have counted."""
        turn = self._turn_in(prompted, quirks, counted)
        cost = self._cost_of_turn(facts.cost_usd)
        self.cost_usd, self.is_known = facts.cost_usd, True
        turn = turn or wire.Usage()
        report = UsageReported(
            input_tokens=turn.input_tokens or 0,
            output_tokens=turn.output_tokens or 0,
            cached_tokens=turn.cached_read_tokens or 0,
            cost_usd=cost,
            context_used=facts.context_used,
            context_size=facts.context_size,
        )
        return [report] if report != UsageReported() else []

    def _cost_of_turn(self, total: float) -> float:
        """A total that is less than it was has started again."""
        if not self.is_known:
            return 0.0
        return total - self.cost_usd if total >= self.cost_usd else total

    def _turn_in(self, prompted: wire.Prompted, quirks: Quirks, counted: wire.Usage | None) -> wire.Usage | None:
        said = _usage_in(prompted)
        match quirks.usage:
            case "none":
                return None
            case "updates":
                return counted
            case "session" | "process" if said is not None:
                # A process that has only resumed the session has counted nothing yet.
                is_known = self.is_known or quirks.usage == "process"
                turn = _difference(self.usage, said) if is_known else None
                self.usage = said
                return turn
            case _:
                return said


class KnownTotals:
    """The totals of the sessions that were used last: agents count on when a session is resumed in a new process."""

    def __init__(self, most: int = MOST_KNOWN) -> None:
        self._most = most
        self._by_session: dict[str, Totals] = {}

    def begin(self, session_id: str) -> Totals:
        return self._keep(session_id, Totals())

    def resume(self, session_id: str, quirks: Quirks) -> Totals:
        known = self._by_session.pop(session_id, None)
        if known is None:
            return self._keep(session_id, Totals(is_known=False))
        if quirks.usage == "process":
            known.usage = wire.Usage()
        return self._keep(session_id, known)

    def _keep(self, session_id: str, totals: Totals) -> Totals:
        self._by_session[session_id] = totals
        while len(self._by_session) > self._most:
            del self._by_session[next(iter(self._by_session))]
        return totals


def _usage_in(prompted: wire.Prompted) -> wire.Usage | None:
    """The protocol's own field; some agents count under `_meta.quota` instead, in either spelling."""
    if prompted.usage is not None:
        return prompted.usage
    counted = as_dict(as_dict(as_dict(prompted.meta).get("quota")).get("token_count"))
    if not counted:
        return None
    return wire.Usage(
        input_tokens=_number(counted, "input_tokens", "inputTokens"),
        output_tokens=_number(counted, "output_tokens", "outputTokens"),
        cached_read_tokens=_number(counted, "cached_tokens", "cachedInputTokens"),
    )


def _number(counted: dict[str, Any], *names: str) -> int:
    return next((value for name in names if isinstance(value := counted.get(name), int)), 0)


def _difference(before: wire.Usage, after: wire.Usage) -> wire.Usage:
    return wire.Usage(
        input_tokens=max(0, (after.input_tokens or 0) - (before.input_tokens or 0)),
        output_tokens=max(0, (after.output_tokens or 0) - (before.output_tokens or 0)),
        cached_read_tokens=max(0, (after.cached_read_tokens or 0) - (before.cached_read_tokens or 0)),
    )
