"""An agent's Markdown as HTML: no HTML of its own, no pictures from elsewhere, links that lead out openly. The
libraries are imported when the first answer is shown: a daemon without a browser does not pay for them."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, cast
from urllib.parse import urlsplit

from fairlead.render.console.markup import Html, el

MOST_RENDERED: Final = 100_000
"""Of a longer text only the beginning is rendered; the whole is a file to read."""
_MOST_HIGHLIGHTED: Final = 30_000
_ALIGNED: Final = {"text-align:right": "to-right", "text-align:center": "to-middle"}
_SCHEMES: Final = frozenset({"http", "https", "mailto"})


def render_markdown(text: str) -> Html:
    """Takes as long as the text is; a long one is rendered in a thread."""
    return el("div", Html(_renderer()(text[:MOST_RENDERED])), class_="md")


@cache
def _renderer() -> Callable[[str], str]:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - on first use

    parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlight})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = _is_safe_link  # pyright: ignore[reportAttributeAccessIssue]
    parser.add_render_rule("link_open", _open_link)
    parser.add_render_rule("image", _link_image)
    parser.add_render_rule("table_open", _open_table)
    parser.add_render_rule("table_close", _close_table)
    parser.add_render_rule("th_open", _open_cell)
    parser.add_render_rule("td_open", _open_cell)
    rules = cast("dict[str, Callable[..., str]]", parser.renderer.rules)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    parser.add_render_rule("fence", _focusable(rules["fence"]))
    parser.add_render_rule("code_block", _focusable(rules["code_block"]))
    return parser.render


def _is_safe_link(url: str) -> bool:
    """A path would lead into this server, and other schemes into programs of the reader's machine."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    return parts.scheme.lower() in _SCHEMES


def _open_link(_self: Any, tokens: Sequence[Any], index: int, *_: Any) -> str:
    address = str(tokens[index].attrGet("href") or "")
    opening = el("a", href=address, rel="noreferrer noopener nofollow", target="_blank")
    return opening.removesuffix("</a>")


def _link_image(_self: Any, tokens: Sequence[Any], index: int, *_: Any) -> str:
    """Showing a picture would tell its server that somebody reads."""
    address = str(tokens[index].attrGet("src") or "")
    words = tokens[index].content or address
    return el("a", words, href=address, rel="noreferrer noopener nofollow", target="_blank")


def _open_table(*_: Any) -> str:
    return '<div class="wide" tabindex="0" role="group"><table>'


def _close_table(*_: Any) -> str:
    return "</table></div>"


def _open_cell(_self: Any, tokens: Sequence[Any], index: int, *_: Any) -> str:
    """The parser aligns a column with a style of its own, which the page's policy forbids: it becomes a class."""
    align = _ALIGNED.get(str(tokens[index].attrGet("style") or ""))
    return el(tokens[index].tag, class_=align).removesuffix(f"</{tokens[index].tag}>")


def _focusable(render: Callable[..., str]) -> Callable[..., str]:
    """Long code is scrolled in its box, by keyboard too."""

    def open_box(_self: Any, *given: Any) -> str:
        return render(*given).replace("<pre>", '<pre tabindex="0">', 1)

    return open_box


def _highlight(code: str, language: str, _attributes: str) -> str:
    """Empty if there are no colours for it: then the code is escaped and shown as it is."""
    if not language or len(code) > _MOST_HIGHLIGHTED:
        return ""
    from pygments import highlight  # noqa: PLC0415 - on first use
    from pygments.formatters.html import HtmlFormatter  # noqa: PLC0415 - on first use
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound  # noqa: PLC0415 - on first use

    try:
        lexer: Any = get_lexer_by_name(language[:40].lower())  # pyright: ignore[reportUnknownVariableType]
    except ClassNotFound:
        return ""
    return highlight(code, lexer, HtmlFormatter(nowrap=True, classprefix="t-"))
