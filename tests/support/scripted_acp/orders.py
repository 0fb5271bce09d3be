"""Reads a prompt: a line that is an order becomes a step, the lines between are words to reply to."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from . import endings, faults, own_tools, permissions, questions, tools, updates
from .replies import reply_to

if TYPE_CHECKING:
    from .turn import Turn

Step = Callable[["Turn"], None]
_GROUPS = (updates, tools, permissions, questions, endings, faults, own_tools)
WITH_REST = {word: follow for group in _GROUPS for word, follow in group.WITH_REST.items()}
ALONE = {word: follow for group in _GROUPS for word, follow in group.ALONE.items()}
_AFTER_THE_CANCEL = {"hang-deaf", "ask-after-cancel", "cancel-slowly"}
_ORDER = re.compile(r"[ \t]*([a-z][a-z-]*)(?::[ \t]*(.*?))?[ \t]*")


def read_orders(text: str, *, steered: bool) -> Iterator[Step]:
    """`steered`: the words came into a running turn, and the reply to them says so."""
    plain: list[str] = []
    for line in text.splitlines():
        step = order_in(line)
        if step is None:
            plain.append(line)
            continue
        yield from _replying_to(plain, steered=steered)
        plain = []
        yield step
    yield from _replying_to(plain, steered=steered)


def obeys_cancel(text: str) -> bool:
    """Not if one of the orders waits for the cancel itself, which may come while an earlier order is followed."""
    return not any(line.strip().partition(":")[0] in _AFTER_THE_CANCEL for line in text.splitlines())


def order_in(line: str) -> Step | None:
    found = _ORDER.fullmatch(line)
    if found is None:
        return None
    word, rest = found[1], found[2]
    if rest is not None and word in WITH_REST:
        return lambda turn: WITH_REST[word](turn, rest)
    return ALONE.get(word) if rest is None else None


def _replying_to(plain: list[str], *, steered: bool) -> Iterator[Step]:
    spoken = "\n".join(plain)
    if spoken.strip():
        yield lambda turn: reply_to(turn, spoken, steered=steered)
