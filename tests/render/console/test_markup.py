"""HTML by construction."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.render.console.markup import NOTHING, Html, el, join


@pytest.mark.req("G3")
def test_text_is_escaped_and_html_is_not_escaped_twice():
    assert el("p", "<b>", el("i", "&"), title='"><script>') == (
        '<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt;<i>&amp;</i></p>'
    )


def test_attributes_that_are_off_are_left_out_and_names_are_written_as_html_has_them():
    assert el("input", type="text", required=True, disabled=False, id=None, data_in="x", class_="y") == (
        '<input type="text" required data-in="x" class="y">'
    )


def test_content_may_be_nested_and_empty():
    assert join([None, "a", ["b", [Html("<br>")]], NOTHING]) == "ab<br>"


@pytest.mark.req("G3")
@pytest.mark.parametrize("address", ["javascript:alert(1)", " javascript:x", "data:text/html,x", "vbscript:x", "a/b"])
def test_no_element_leads_to_an_address_that_runs(address: str):
    with pytest.raises(ValueError, match="not an address"):
        el("a", "x", href=address)


@pytest.mark.req("G3")
@given(st.text(), st.text())
def test_no_text_opens_a_tag_or_leaves_its_attribute(text: str, value: str):
    html = el("p", text, title=value)
    inside = html.removeprefix("<p title=").removesuffix("</p>")
    assert inside.count("<") == 0
    assert inside.count('"') - text.count('"') == 2
