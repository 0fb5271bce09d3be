"""The agents' own sessions in words: a list to choose from, and the last exchanges of one. What was said there is shown
as text that formats nothing. Pure."""

from collections.abc import Callable, Sequence
from typing import Final

from fairlead.core import replies as r
from fairlead.core.agent_sessions import Exchange
from fairlead.render.safe_text import one_line
from fairlead.render.words import say

_SHORTEST_KEY: Final = 8
_PROMPT: Final = 200
_ANSWER_LINES: Final = 6
_ANSWER_LINE: Final = 200

When = Callable[[str], str]


def session_rows(catalogue: r.StoredSessionCatalogue, lang: str, when: When) -> tuple[str, ...]:
    keys = shortest_keys([row.key for row in catalogue.sessions])
    return tuple(_row(row, key, lang, when) for row, key in zip(catalogue.sessions, keys, strict=True))


def unlisted_sentences(catalogue: r.StoredSessionCatalogue, lang: str) -> tuple[str, ...]:
    return tuple(
        say(lang, "reply.stored.unlisted", tool=tool, reason=one_line(reason, _PROMPT))
        for tool, reason in catalogue.unlisted.items()
    )


def shortest_keys(keys: Sequence[str]) -> list[str]:
    """The beginning of each that no other one has: it is enough to name the session, and fits on a phone."""
    return [
        next(key[:n] for n in range(_SHORTEST_KEY, len(key) + 1) if _is_only(key[:n], keys) or n == len(key))
        if len(key) > _SHORTEST_KEY
        else key
        for key in keys
    ]


def _is_only(start: str, keys: Sequence[str]) -> bool:
    return sum(key.startswith(start) for key in keys) == 1


def _row(row: r.StoredSessionRow, key: str, lang: str, when: When) -> str:
    bound = (
        say(lang, "reply.stored.here")
        if row.here
        else row.session_id and say(lang, "reply.stored.elsewhere", session=row.session_id)
    )
    parts = (
        key,
        row.tool,
        when(row.changed_at) if row.changed_at else "",
        count_words(row.exchanges, lang, has_more=row.has_more),
        bound or "",
        one_line(row.first_words, _PROMPT),
    )
    return " · ".join(filter(None, parts))


def count_words(exchanges: int, lang: str, *, has_more: bool) -> str:
    """Empty where nobody has counted."""
    if not exchanges:
        return ""
    number = f"{exchanges}+" if has_more else str(exchanges)
    return say(lang, "reply.stored.one") if number == "1" else say(lang, "reply.stored.exchanges", count=number)


def exchange_rows(exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    """The last words of both sides, bounded: nobody needs to read a whole conversation again."""
    return tuple(line for exchange in exchanges for line in _exchange_lines(exchange))


def _exchange_lines(exchange: Exchange) -> list[str]:
    said = [line for line in exchange.answer.splitlines() if line.strip()]
    shown = [f"  {one_line(line, _ANSWER_LINE)}" for line in said[:_ANSWER_LINES]]
    return [f"> {one_line(exchange.prompt, _PROMPT)}", *shown, *(["  …"] if len(said) > _ANSWER_LINES else [])]
