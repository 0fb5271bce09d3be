"""The page at `/`: what it says, in which language, and what it must not say."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import get_args

import pytest

from fairlead.render.front_page import CONTENT_SECURITY_POLICY, Health, build_front_page, pick_page_language
from fairlead.render.words import CATALOGUES


def page_of(health: Health = "ok", lang: str = "en", origin: str = "http://127.0.0.1:8466") -> str:
    return build_front_page(health, "1.2.3", origin=origin, lang=lang)


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag not in {"meta", "link"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("lang", CATALOGUES)
@pytest.mark.parametrize("health", get_args(Health))
def test_it_says_what_this_is_whether_it_is_well_and_how_to_get_in(health: Health, lang: str):
    page = page_of(health, lang)
    words = CATALOGUES[lang]
    assert f'<html lang="{lang}">' in page
    for key in ("what", health, "get_in", "terminal", "http", "private"):
        assert words[f"page.{key}"] in page
    assert "<pre>fairlead chat</pre>" in page
    assert 'href="/openapi.json"' in page
    assert "`" not in page
    assert "{" not in re.sub(r"(?s)<style>.*</style>|<pre>.*</pre>", "", page)
    assert Tags(page).open == []


def test_no_script_runs_and_the_only_style_is_the_one_that_the_policy_names():
    page = page_of()
    tags = Tags(page)
    assert "script" not in tags.names
    assert not [name for name, _ in tags.attributes if name.startswith("on") or name == "style"]
    (style,) = re.findall(r"(?s)<style>(.*?)</style>", page)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in CONTENT_SECURITY_POLICY
    assert "default-src 'none'" in CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY


def test_an_address_cannot_bring_markup_in():
    assert "<img" not in page_of(origin="http://<img src=x>")


@pytest.mark.parametrize(
    ("accepted", "lang"),
    [
        ("ja", "ja"),
        ("ja-JP,ja;q=0.9,en;q=0.8", "ja"),
        ("fr-FR,fr;q=0.9,zh-TW;q=0.5,en;q=0.4", "zh-TW"),
        ("en;q=0.2, zh-CN;q=0.9", "zh-CN"),
        ("zh-Hant-HK", "zh-TW"),
        ("ja;q=0, en", "en"),
        ("fr, *", "zh-CN"),
        ("", "zh-CN"),
        ("ja;q=x", "zh-CN"),
        (";;;,,,", "zh-CN"),
    ],
)
def test_the_readers_first_language_that_is_spoken_is_taken(accepted: str, lang: str):
    assert pick_page_language(accepted, "zh-CN") == lang
