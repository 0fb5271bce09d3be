"""HTML by construction: a text is escaped where it becomes part of an element, so that no page can forget to.
Knows no page and no style."""

from collections.abc import Iterable
from html import escape
from typing import Final, TypeAlias

_VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta"})
_ADDRESSES: Final = frozenset({"href", "src", "action", "formaction"})
_SAFE_ADDRESSES: Final = ("/", "#", "?", "https://", "http://", "mailto:", "data:image/")


class Html(str):
    """A text that is HTML already. Only this module and `markdown.py` make it from other text."""

    __slots__ = ()


Content: TypeAlias = "str | Html | Iterable[Content] | None"
Attribute: TypeAlias = str | int | bool | None

NOTHING: Final = Html("")


def el(tag: str, /, *content: Content, **attributes: Attribute) -> Html:
    """`el("a", "text", href="/", class_="x", data_id=3)`. An attribute that is None or False is left out, one that is
    True stands without a value; `_` in its name is `-`, and one at the end is dropped."""
    opening = f"<{tag}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(opening if tag in _VOID else f"{opening}{join(content)}</{tag}>")


def join(content: Content) -> Html:
    match content:
        case None:
            return NOTHING
        case Html():
            return content
        case str():
            return Html(escape(content, quote=False))
        case _:
            return Html("".join(map(join, content)))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    written = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {written}"
    text = str(value)
    if written in _ADDRESSES and not text.startswith(_SAFE_ADDRESSES):
        raise ValueError(f"{written}={text[:40]!r} is not an address that a page may lead to")
    return f' {written}="{escape(text)}"'
