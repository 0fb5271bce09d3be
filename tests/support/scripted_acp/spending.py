"""The tokens of a turn, told in every way that agents tell them: in the response, in updates, or in empty chunks."""

from typing import TYPE_CHECKING

from .settings import text_block
from .wire import Payload

if TYPE_CHECKING:
    from .turn import Turn

TOKENS_OF_A_REQUEST = 100
CONTEXT_SIZE = 200_000
Tokens = tuple[int, int, int]  # in, out, read from the cache


def spend(turn: "Turn") -> Payload:
    """`usage` and `_meta` of the response; updates are sent on the way. A turn has a request more than tools."""
    last = turn.usage or (TOKENS_OF_A_REQUEST, max(1, len("".join(turn.said)) // 4), 10)
    requests = 1 if turn.usage else turn.requests
    whole = (last[0] * requests, last[1] * requests, last[2] * requests)
    session = turn.session
    session.spent = [before + now for before, now in zip(session.spent, whole, strict=True)]
    _send_updates(turn, last, requests)
    counts = {"turn": whole, "last": last, "cumulative": tuple(session.spent)}
    chosen = [counts[way] for way in turn.switches.items_of("usage") if way in counts]
    result: Payload = {"usage": usage_of(*chosen[0])} if chosen else {}
    if turn.switches.has("usage", "quota"):
        result["_meta"] = {"quota": quota_of(whole, session.model)}
    return result


def _send_updates(turn: "Turn", last: Tokens, requests: int) -> None:
    if turn.switches.has("usage", "chunk"):
        for _ in range(requests):
            turn.update("agent_message_chunk", content=text_block(""), _meta={"usage": usage_of(*last)})
    if turn.switches.context != "none":
        amount = round(sum(turn.session.spent) / 1e5, 6)  # of the whole session
        price: Payload = {"cost": {"amount": amount, "currency": "USD"}} if turn.switches.context == "cost" else {}
        turn.update("usage_update", used=last[0] + last[1], size=CONTEXT_SIZE, **price)


def spend_cancelled(turn: "Turn") -> Payload:
    match turn.switches.usage_when_cancelled:
        case "null":
            return {"usage": None}
        case "zero":
            return {"usage": usage_of(0, 0, 0)}
        case _:
            return {}


def usage_of(tokens_in: int, tokens_out: int, cached: int) -> Payload:
    return {
        "inputTokens": tokens_in,
        "outputTokens": tokens_out,
        "cachedReadTokens": cached,
        "cachedWriteTokens": 0,
        "totalTokens": tokens_in + tokens_out + cached,
    }


def quota_of(turn: Tokens, model: str) -> Payload:
    counts = {"input_tokens": turn[0], "output_tokens": turn[1]}
    return {"token_count": counts, "model_usage": [{"model": model, "token_count": counts}]}
