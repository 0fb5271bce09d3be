"""The document around every page."""

import pytest

from fairlead.render.console.layout import FOR_OWNER, NAV, Assets, PageFrame, build_document, build_plain_document
from fairlead.render.console.logins import LoginRow, away_page, enter_page, logins_page, problem_page
from fairlead.render.console.markup import el
from tests.channels.http.console.harness import tags_in

ASSETS = Assets(style="/s.css", script="/s.js", icon="/i.svg", touch_icon="/i.png", manifest="/m")
NOW = "2026-11-18T03:00:10.000Z"


@pytest.mark.req("G7")
@pytest.mark.parametrize("lang", ["en", "ja", "zh-CN", "zh-TW"])
def test_every_document_has_its_language_its_landmarks_and_a_way_past_the_menu(lang: str):
    frame = PageFrame(lang=lang, assets=ASSETS, page="now", person="<owner>", open_questions=2)
    html = build_document(frame, "A <title>", el("p", "content"))
    tags = tags_in(html)
    assert tags[0] == ("html", {"lang": lang})
    assert {"header", "nav", "main", "footer"} <= {tag for tag, _ in tags}
    skip = next(a for tag, a in tags if a.get("class") == "skip")
    assert (skip["href"], [a["id"] for tag, a in tags if tag == "main"]) == ("#main", ["main"])
    current = [a["href"] for tag, a in tags if a.get("aria-current") == "page"]
    assert current == ["/"]
    assert [a["href"] for tag, a in tags if tag == "a"][2:] == [path for name, path, _ in NAV if name not in FOR_OWNER]
    assert "<title>A &lt;title&gt; · Fairlead</title>" in html


@pytest.mark.req("G4")
def test_the_pages_on_the_way_in_show_nothing_of_what_is_inside():
    frame = PageFrame(lang="en", assets=ASSETS)
    html = build_plain_document(frame, "In", enter_page("co<de", "en"))
    assert 'value="co&lt;de"' in html
    assert "nav" not in {tag for tag, _ in tags_in(html)}
    assert "fairlead console" in build_plain_document(frame, "Out", away_page("en"))
    led = build_plain_document(frame, "x", "y", refresh="/console/logins")
    assert "script" not in {tag for tag, _ in tags_in(led)}


def test_a_login_can_be_ended_and_ones_own_is_marked():
    rows = (
        LoginRow(number=1, person="local", browser="<b>", made_at=NOW, used_at=NOW, is_this=True),
        LoginRow(number=2, person="guest", browser="x", made_at=NOW, used_at=NOW),
    )
    html = logins_page(rows, "en", NOW)
    assert [a["action"] for tag, a in tags_in(html) if tag == "form"] == [
        "/console/logins/1/end",
        "/console/logins/2/end",
    ]
    assert html.count("this browser") == 1
    assert "&lt;b&gt;" in html
    assert "<p>E_X</p><p>What.</p>" in problem_page(("E_X", "What.", ""), "en")
