"""Rows about the console in the browser: its first byte, its weight, live text in a real Chromium, and what open pages
cost the daemon."""

import http.client
import json
import re
import shutil
import socket
import statistics
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from benchmarks.daemon import DaemonProcess
from benchmarks.rows import NotMeasured, Row, paired_at_most

_SESSIONS = 1000
_PAIRS = 200
_PAGES = 10
_PAGES_PER_CONTEXT = 5
"""Chromium opens at most six connections to a server for each context, and every page holds one."""
_OPEN = 50
_TICKS = 120
_MOST_KB, _MOST_REQUESTS = 60.0, 4
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_NO_BROWSER = "Chromium and playwright are needed: make test-console brings both"
_LIVE_NAME = f"delta → text on the page, p99, {_PAGES} pages"

_RECORD = r"""
() => {
  window.seen = {};
  const note = (text) => {
    for (const [, n] of text.matchAll(/tick-(\d+)\./g)) window.seen[n] ??= performance.timeOrigin + performance.now();
  };
  // What the agent says grows in elements that count their characters; what was asked does not.
  const look = (target, node) => {
    if (node.nodeType !== Node.ELEMENT_NODE) return target.closest("[data-n]") && note(node.data);
    for (const part of [node, ...node.querySelectorAll("[data-n]")]) part.matches("[data-n]") && note(part.textContent);
  };
  new MutationObserver((records) => {
    for (const { type, target, addedNodes } of records) {
      if (type === "characterData") note(target.data.slice(-400));
      for (const node of addedNodes) look(target, node);
    }
  }).observe(document.getElementById("main"), { childList: true, characterData: true, subtree: true });
}
"""


class Console:
    """A daemon, a login, and requests as a browser sends them."""

    def __init__(self, daemon: DaemonProcess, state: Path) -> None:
        self.daemon = daemon
        self.url = (state / "http-address").read_text().strip()
        self._token = (state / "http-token").read_text().strip()
        self._place = urlsplit(self.url)
        self.cookie = self._log_in()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._place.hostname or "", self._place.port or 0, timeout=60)

    def ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return json.loads(connection.getresponse().read() or b"null")

    def make_link(self) -> str:
        return self.url + self.ask(self.connect(), "POST", "/v1/console/links", {})["path"]

    def _log_in(self) -> str:
        code = parse_qs(urlsplit(self.make_link()).query)["code"][0]
        connection = self.connect()
        headers = {"Origin": self.url, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/console/enter", f"code={code}", headers)
        cookie = connection.getresponse().getheader("Set-Cookie") or ""
        return cookie.partition(";")[0]

    def get(self, connection: http.client.HTTPConnection, path: str) -> http.client.HTTPResponse:
        connection.request("GET", path, headers={"Cookie": self.cookie, "Accept-Encoding": "gzip"})
        return connection.getresponse()

    def read_plain(self, path: str) -> str:
        connection = self.connect()
        connection.request("GET", path, headers={"Cookie": self.cookie})
        return connection.getresponse().read().decode()

    def say(self, connection: http.client.HTTPConnection, user: str, text: str) -> Any:
        return self.ask(connection, "POST", "/v1/messages?wait=1", {"userId": user, "message": text})


def console_rows(directory: Path) -> list[Row | NotMeasured]:
    with _run_console(directory / "many") as console:
        _fill(console, _SESSIONS)
        rows: list[Row | NotMeasured] = [_first_byte_row(console), _weight_row(console)]
    with _run_console(directory / "live") as console:
        rows.append(_live_row(console))
    with _run_console(directory / "open") as console:
        rows.append(_open_pages_row(console))
    return rows


@contextmanager
def _run_console(directory: Path) -> Generator[Console]:
    project = directory / "proj"
    project.mkdir(parents=True)
    state = directory / "state"
    more = {"PROJECTS": json.dumps([str(project)]), "FAIRLEAD_DRAIN_SEC": "0", "LOG_DIR": str(directory / "logs")}
    with DaemonProcess(directory, state, more) as daemon:
        yield Console(daemon, state)


def _fill(console: Console, sessions: int) -> None:
    def talk(numbers: range) -> None:
        connection = console.connect()
        for number in numbers:
            console.say(connection, f"user{number}", f"hello {number}")

    share = sessions // 4
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(talk, [range(start, start + share) for start in range(0, sessions, share)]))


# --- the first byte, and all bytes


def _first_byte_row(console: Console) -> Row:
    connection = console.connect()

    def first_byte(path: str) -> float:
        began = time.perf_counter()
        response = console.get(connection, path)
        took = time.perf_counter() - began
        response.read()
        return took * 1e3

    for _ in range(20):
        first_byte("/")
        first_byte("/v1/health")
    pairs = [(first_byte("/"), first_byte("/v1/health")) for _ in range(_PAIRS)]
    return paired_at_most(
        f"console, Now with {_SESSIONS:,} sessions, first byte",
        [ours for ours, _ in pairs],
        [floor for _, floor in pairs],
        floor_name="GET /v1/health",
        unit="ms",
        factor=5,
    )


def _weight_row(console: Console) -> Row:
    """The page, what it names, and its stream, which is the last request."""
    paths = ["/", *_parts_of(console.read_plain("/"))]
    weight = sum(_weigh(console, path) for path in paths) / 1000
    requests = len(paths) + 1
    return Row(
        name=f"console, first page compressed, in {requests} requests",
        measured=weight,
        floor=None,
        floor_name="none",
        unit="kB",
        reach=f"≤ {_MOST_KB:g} kB in {_MOST_REQUESTS}",
        reached=weight <= _MOST_KB and requests <= _MOST_REQUESTS,
    )


def _parts_of(html: str) -> list[str]:
    """What a browser fetches with the page by itself; an icon or a manifest only where somebody installs it."""
    found = re.findall(r'<link rel="stylesheet" href="([^"]+)"|<script src="([^"]+)"', html)
    return [style or script for style, script in found]


def _weigh(console: Console, path: str) -> int:
    response = console.get(console.connect(), path)
    head = sum(len(name) + len(value) + 4 for name, value in response.getheaders())
    return head + len(response.read())


# --- live text in a browser


def _live_row(console: Console) -> Row | NotMeasured:
    program = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if program is None or find_spec("playwright") is None:
        return NotMeasured(_LIVE_NAME, _NO_BROWSER)
    sync_playwright: Any = import_module("playwright.sync_api").sync_playwright
    console.say(console.connect(), "watched", "hello")
    path = _session_path(console, "watched")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, headless=True, args=["--no-sandbox", "--disable-gpu"])
        pages = _open_pages(console, browser, path)
        sent = _watch_wire(console, path)
        seen = [_until_all_seen(page) for page in pages]
        browser.close()
    late = [1e3 * (times[tick] / 1e3 - sent[tick]) for times in seen for tick in sent if tick in times]
    p99 = statistics.quantiles(late, n=100)[98] if len(late) > 1 else float("inf")
    return Row(
        name=_LIVE_NAME,
        measured=p99,
        floor=0.0,
        floor_name="the SSE frame on the wire",
        unit="ms",
        reach="≤ + 50 ms",
        reached=p99 <= 50 and len(late) >= _PAGES * _TICKS * 0.95,
        spread=f"median {statistics.median(late or [0.0]):.3g} ms",
    )


def _session_path(console: Console, user: str) -> str:
    page = console.read_plain(f"/console/sessions?q={user}")
    return re.findall(r'href="(/console/session/[^"]+)" class="title"', page)[0]


def _open_pages(console: Console, browser: Any, path: str) -> list[Any]:
    pages: list[Any] = []
    for _ in range(_PAGES // _PAGES_PER_CONTEXT):
        context = browser.new_context()
        for _ in range(_PAGES_PER_CONTEXT):
            page = context.new_page()
            if not context.cookies():
                page.goto(console.make_link())
                page.wait_for_selector("#summary")
            with page.expect_response(_is_stream):
                page.goto(console.url + path)
            page.evaluate(_RECORD)
            pages.append(page)
    return pages


def _is_stream(response: Any) -> bool:
    return "/console/events" in response.url


def _watch_wire(console: Console, path: str) -> dict[str, float]:
    """When each tick left the daemon, as a further client of the same stream sees it. The turn begins here."""
    stream = _stream_in(console.read_plain(path))
    response = console.get(console.connect(), stream)
    ticks = "\n/slow 0.04\n".join(f"tick-{number}." for number in range(_TICKS))
    threading.Thread(target=console.say, args=(console.connect(), "watched", f"/slow 1\n{ticks}"), daemon=True).start()
    sent: dict[str, float] = {}
    last = str(_TICKS - 2)  # the very last words come with the end of the turn
    while last not in sent:
        line = response.readline()
        assert line, f"the stream ended after {len(sent)} of {_TICKS} ticks"
        if line.startswith(b"data: {"):  # text that grows; the first words of a turn come with its whole element
            for tick in re.findall(rb"tick-(\d+)\.", line):
                sent.setdefault(tick.decode(), time.time())
    return sent


def _until_all_seen(page: Any) -> dict[str, float]:
    with suppress(Exception):  # what is missing is counted
        page.wait_for_function(f"Object.keys(window.seen).length >= {_TICKS - 2}", timeout=5000)
    return page.evaluate("window.seen")


def _stream_in(html: str) -> str:
    found = re.search(r'data-stream="([^"]+)"', html)
    assert found, "the page has no stream"
    return found[1].replace("&amp;", "&")


# --- open pages


def _open_pages_row(console: Console) -> Row:
    """Half of them *Now*, half of them a session, while a job is done. They also load the code of the console."""
    connection = console.connect()
    console.say(connection, "watched", "hello")
    none_open = console.daemon.rss_kib() / 1024
    path = _session_path(console, "watched")
    streams = [_open_stream(console, "/" if number % 2 else path) for number in range(_OPEN)]
    console.say(connection, "watched", "tick\n/slow 0.1\ntock")
    _until_quiet(streams)
    open_now = console.daemon.rss_kib() / 1024
    for stream in streams:
        stream.close()
    return Row(
        name=f"console, RSS with {_OPEN} pages open",
        measured=open_now,
        floor=none_open,
        floor_name="none open",
        unit="MiB",
        reach="≤ + 15 MiB",
        reached=open_now - none_open <= 15,
        spread=f"+ {open_now - none_open:.1f} MiB",
    )


def _open_stream(console: Console, path: str) -> socket.socket:
    stream = _stream_in(console.read_plain(path))
    place = urlsplit(console.url)
    opened = socket.create_connection((place.hostname, place.port or 0), timeout=30)
    opened.sendall(f"GET {stream} HTTP/1.1\r\nHost: {place.netloc}\r\nCookie: {console.cookie}\r\n\r\n".encode())
    assert b" 200 " in opened.recv(4096)
    return opened


def _until_quiet(streams: Sequence[socket.socket]) -> None:
    """Each has received what happened: its next bytes would come with the next event."""
    for stream in streams:
        stream.settimeout(0.2)
        with suppress(TimeoutError):
            while stream.recv(65536):
                pass
