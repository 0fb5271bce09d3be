"""What a reverse proxy says counts only if the owner named the proxy."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.channels.harness import DaemonHarness, run_daemon_in
from tests.channels.http.console.harness import a_browser, frames_in, stream_in

pytestmark = pytest.mark.anyio
HOST = "fairlead.example"
HOP_BY_HOP = frozenset({"Transfer-Encoding", "Connection", "Content-Length"})
FORWARDED = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9, 198.51.100.7"}


@pytest.mark.req("G4")
@pytest.mark.parametrize(("named", "is_believed"), [((), False), (("127.0.0.1",), True), (("192.0.2.1",), False)])
async def test_a_cookie_is_secure_and_the_client_is_named_behind_a_named_proxy_alone(
    tmp_path: Path, named: tuple[str, ...], is_believed: bool
):
    more = {"FAIRLEAD_HTTP_PROXIES": named, "FAIRLEAD_HTTP_ALLOWED_HOSTS": ("fairlead.example",)}
    async with run_daemon_in(tmp_path, **more) as daemon, a_browser(daemon) as browser:
        code = (await browser.make_link()).partition("code=")[2]
        through = {"Host": "fairlead.example", "Origin": "https://fairlead.example", **FORWARDED}
        entered = await browser.post("/console/enter", {"code": code}, **through)
        assert ("; Secure" in entered.headers["Set-Cookie"]) == is_believed
        cookie = entered.headers["Set-Cookie"].partition(";")[0]
        await daemon.until(await daemon.begin("alice", "/ask ls"), "question")
        answered = await browser.post("/console/question/q_1", {"verdict": "allow"}, Cookie=cookie, **through)
        assert answered.status == 303
        (way,) = re.findall(r'"via":"([^"]+)"', (tmp_path / "state" / "events.ndjson").read_text())
    assert ("198.51.100.7 by 127.0.0.1:" in way) == is_believed
    assert "203.0.113.9" not in way


# --- a real proxy in front of a real daemon


@asynccontextmanager
async def forwarding_proxy(upstream: str, **headers: str) -> AsyncGenerator[str]:
    """Passes everything on, without buffering, and adds these headers, as nginx is told to."""

    async def forward(request: web.Request) -> web.StreamResponse:
        sent = {**{k: v for k, v in request.headers.items() if k != "Connection"}, **headers}
        async with http.request(
            request.method, upstream + request.path_qs, headers=sent, data=await request.read(), allow_redirects=False
        ) as answer:
            response = web.StreamResponse(status=answer.status)
            response.headers.extend((k, v) for k, v in answer.headers.items() if k not in HOP_BY_HOP)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            return response

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", forward)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
    async with aiohttp.ClientSession(auto_decompress=False) as http:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        await runner.cleanup()


async def log_in_through(daemon: DaemonHarness, address: str, http: aiohttp.ClientSession) -> str:
    """The cookie, as the browser is told to keep it."""
    _, link = await daemon.post("/v1/console/links", {})
    code = link["path"].partition("code=")[2]
    headers = {"Host": HOST, "Origin": f"https://{HOST}", "Sec-Fetch-Site": "same-origin"}
    entering = http.post(f"{address}/console/enter", data={"code": code}, headers=headers, allow_redirects=False)
    async with entering as entered:
        assert entered.status == 303
        return entered.headers["Set-Cookie"]


@pytest.mark.req("G4")
@pytest.mark.parametrize("named", [("127.0.0.1",), ("192.0.2.1",)])
async def test_the_console_behind_a_proxy_is_live_and_only_a_named_proxy_is_believed(
    tmp_path: Path, named: tuple[str, ...]
):
    is_named = named == ("127.0.0.1",)
    settings = {"FAIRLEAD_HTTP_ALLOWED_HOSTS": (HOST,), "FAIRLEAD_HTTP_PROXIES": named}
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.7"}
    async with (
        run_daemon_in(tmp_path, **settings) as daemon,
        forwarding_proxy(daemon.url, **forwarded) as address,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
    ):
        cookie = await log_in_through(daemon, address, http)
        assert ("Secure" in cookie) is is_named
        headers = {"Host": HOST, "Cookie": cookie.partition(";")[0]}
        async with http.get(f"{address}/", headers=headers) as page:
            stream = stream_in(await page.text())
        async with http.get(address + stream, headers=headers) as changes:
            await daemon.until(await daemon.begin("alice", "/ask rm -rf build"), "question")
            async for _, event, _data in frames_in(changes):
                if event == "attention":
                    break
        form = {**headers, "Origin": f"https://{HOST}", "Sec-Fetch-Site": "same-origin"}
        pressing = http.post(
            f"{address}/console/question/q_1", data={"verdict": "allow"}, headers=form, allow_redirects=False
        )
        async with pressing as answered:
            assert answered.status == 303
        async with http.get(f"{address}/", headers={**headers, "Host": "evil.example"}) as refused:
            assert refused.status == 403
        foreign = {**headers, "Origin": "https://evil.example"}
        async with http.post(f"{address}/console/logins/1/end", headers=foreign) as refused:
            assert refused.status == 403
        journal = (tmp_path / "state" / "events.ndjson").read_text()
    assert ("from 198.51.100.7 by 127.0.0.1" in journal) is is_named
