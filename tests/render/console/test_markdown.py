"""Agents' Markdown: read as Markdown, and never as anything more."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.render.console.markdown import MOST_RENDERED, render_markdown
from tests.channels.http.console.harness import tags_in

HARMLESS = {
    *("div", "p", "em", "strong", "code", "pre", "span", "a", "ul", "ol", "li", "blockquote", "hr", "br", "s"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}


@pytest.mark.req("G2")
def test_markdown_is_rendered_with_highlighted_code_and_tables():
    html = render_markdown("# T\n\n**b** `c`\n\n```python\ndef f(): pass\n```\n\n| a |\n|---|\n| 1 |\n")
    assert "<h1>T</h1>" in html
    assert '<span class="t-k">def</span>' in html
    assert "<table>" in html


@pytest.mark.req("G2")
def test_columns_are_aligned_and_long_code_is_scrolled_by_keyboard():
    html = render_markdown("| a | b |\n|---:|:---:|\n| 1 | 2 |\n\n```\nx\n```\n\n    y\n")
    assert '<td class="to-right">1</td>' in html
    assert '<td class="to-middle">2</td>' in html
    assert html.count('<pre tabindex="0">') == 2


@pytest.mark.req("G3")
@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<style>*{display:none}</style>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html;base64,xx)",
        "[x](/console/logins/1/end)",
        "[x](//evil.example)",
        "![x](https://evil.example/pixel.png)",
        "![x](javascript:alert(1))",
        '[x](https://a.example/"onmouseover="alert(1))',
        "```<script>\nx\n```",
        '``` "onclick=alert(1)\nx\n```',
        "| <img src=x onerror=alert(1)> |\n|---|\n| <b>x</b> |",
        "| a | b | c |\n|:---|---:|:---:|\n| 1 | 2 | 3 |",
    ],
)
def test_nothing_that_an_agent_writes_runs_or_loads(text: str):
    tags = tags_in(render_markdown(text))
    assert {tag for tag, _ in tags} <= HARMLESS
    for tag, attributes in tags:
        assert not [name for name in attributes if name.startswith("on") or name in {"style", "src"}], tag
        if tag == "a":
            assert (attributes["href"] or "").startswith(("https://", "http://", "mailto:"))
            assert attributes["rel"] == "noreferrer noopener nofollow"


@pytest.mark.req("G3")
@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="<>\"'`[]()!*_|#-\n &;:/=abjs\u202e", max_size=200))
def test_any_text_makes_harmless_tags_only(text: str):
    for tag, attributes in tags_in(render_markdown(text)):
        assert tag in HARMLESS
        assert set(attributes) <= {"class", "href", "rel", "target", "tabindex", "role", "aria-label", "start", "title"}


@pytest.mark.req("G3")
def test_only_the_beginning_of_a_very_long_text_is_rendered():
    assert len(render_markdown("x" * (MOST_RENDERED * 3))) < MOST_RENDERED + 100
