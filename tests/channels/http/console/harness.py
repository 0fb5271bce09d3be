"""A browser without a screen: it logs in with a one-time link, keeps its cookie, and posts forms as a page does."""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp

from tests.channels.harness import DaemonHarness


class Reply:
    def __init__(self, response: aiohttp.ClientResponse, text: str) -> None:
        self.status = response.status
        self.headers = response.headers
        self.text = text


class Browser:
    def __init__(self, daemon: DaemonHarness, http: aiohttp.ClientSession) -> None:
        self.daemon = daemon
        self.http = http

    async def open(self, path: str, **headers: str) -> Reply:
        async with self.http.get(self.daemon.url + path, headers=headers, allow_redirects=False) as response:
            return Reply(response, await response.text())

    async def post(self, path: str, form: Any = None, **headers: str) -> Reply:
        sent = {"Origin": self.daemon.url, "Sec-Fetch-Site": "same-origin", **headers}
        url = self.daemon.url + path
        async with self.http.post(url, data=form or {}, headers=sent, allow_redirects=False) as response:
            return Reply(response, await response.text())

    async def log_in(self, person: str = "") -> Reply:
        link = await self.make_link(person)
        code = parse_qs(urlsplit(link).query)["code"][0]
        return await self.post("/console/enter", {"code": code})

    async def make_link(self, person: str = "") -> str:
        status, link = await self.daemon.post("/v1/console/links", {"person": person} if person else {})
        assert status == 200, link
        return link["path"]

    @asynccontextmanager
    async def changes(self, page: str) -> AsyncGenerator[AsyncGenerator[tuple[str, str, Any]]]:
        """The live changes of a page: id, event, data."""
        html = (await self.open(page)).text
        path = stream_in(html)
        async with self.http.get(self.daemon.url + path) as response:
            assert response.status == 200
            yield frames_in(response)


def stream_in(html: str) -> str:
    found = re.search(r'data-stream="([^"]+)"', html)
    assert found, "the page has no stream"
    return found[1].replace("&amp;", "&")


async def frames_in(response: aiohttp.ClientResponse) -> AsyncGenerator[tuple[str, str, Any]]:
    block: dict[str, str] = {}
    async for line in response.content:
        name, colon, value = line.decode().rstrip("\n").partition(": ")
        if colon and name:
            block[name] = value
        elif "data" in block:
            yield block["id"], block["event"], json.loads(block["data"])
            block = {}


@asynccontextmanager
async def a_browser(daemon: DaemonHarness) -> AsyncGenerator[Browser]:
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as http:
        yield Browser(daemon, http)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def tags_in(html: str) -> list[tuple[str, dict[str, str | None]]]:
    """Every tag with its attributes, as a browser reads them."""
    parser = _Tags()
    parser.feed(html)
    return parser.found


GUESTS = {"FAIRLEAD_ALLOWED_USER_IDS": ("4711",), "DISCORD_OWNER_ID": "1"}
"""Settings of a daemon with one guest, 4711."""


async def press(browser: Browser, address: str, **form: str) -> int:
    """The status with which a form of a page was answered."""
    return (await browser.post(address, form)).status
