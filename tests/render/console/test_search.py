"""The page *Search*, as HTML."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.console_views import FoundText, SessionPage, TextPage
from fairlead.render.console.search import search_page
from tests.channels.http.console.harness import tags_in

NOW = "2026-11-18T10:00:00.000Z"


@pytest.mark.req("G9", "G3")
@given(st.text(max_size=40), st.text(max_size=80))
def test_no_words_and_no_text_become_anything_but_text(words: str, text: str):
    found = FoundText(job_id="job_1", is_answer=True, at=NOW, excerpt=text, session_id="s", title=words)
    html = search_page(words, SessionPage(), TextPage(texts=(found,), before=7, since=NOW), "en", NOW)
    known = {"div", "h1", "form", "label", "input", "button", "section", "h2", "ul", "li", "a", "span", "p", "bdi"}
    assert {tag for tag, _ in tags_in(html)} <= known | {"mark", "time", "strong"}
