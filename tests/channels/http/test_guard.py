"""Who may knock."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.channels.http.errors import HttpRefusal
from fairlead.channels.http.guard import Access, RequestGuard
from tests.channels.harness import run_daemon_in

TOKEN = "t" * 43
AUTH = {"Authorization": f"Bearer {TOKEN}"}


def status_for(
    headers: dict[str, str], *, bound: str = "127.0.0.1", access: Access = "token", allowed: tuple[str, ...] = ()
) -> int:
    try:
        RequestGuard(TOKEN, bound, allowed).admit(headers, access=access)
    except HttpRefusal as refused:
        return refused.status
    return 200


@pytest.mark.req("C5")
@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:7720", "[::1]:7720", "127.1.2.3"])
def test_loopback_names_are_ours(host: str):
    assert status_for({"Host": host, **AUTH}) == 200


@pytest.mark.req("C5")
@pytest.mark.parametrize(
    "host",
    [
        *("", "evil.example", "evil.example:7720", "127.0.0.1.evil.example", "10.0.0.7", "[", ":"),
        *("[::1]evil.example", "[::1]evil.example:80", "[::1", "127.0.0.1:80:evil", "localhost:evil", "[]", "::1"),
    ],
)
def test_a_name_that_was_rebound_to_us_is_refused_even_with_the_token(host: str):
    assert status_for({"Host": host, **AUTH}) == 403


def test_a_wildcard_address_admits_addresses_but_no_names():
    assert status_for({"Host": "10.0.0.7:80", **AUTH}, bound="0.0.0.0") == 200
    assert status_for({"Host": "evil.example", **AUTH}, bound="0.0.0.0") == 403


@pytest.mark.req("C5")
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "http://localhost:1", "https://localhost:7720"])
def test_another_sites_origin_is_refused(origin: str):
    assert status_for({"Host": "localhost:7720", "Origin": origin, **AUTH}) == 403


def test_our_own_origin_is_fine_and_other_sites_are_not_even_without_one():
    assert status_for({"Host": "localhost:7720", "Origin": "http://localhost:7720", **AUTH}) == 200
    assert status_for({"Host": "localhost", "Sec-Fetch-Site": "cross-site"}, access="public") == 403


@pytest.mark.req("C5")
def test_a_name_that_the_owner_allowed_is_ours_also_behind_a_proxy_with_tls():
    names = ("box.tailnet.example", "fairlead.example.org")
    for host in ("box.tailnet.example:8466", "BOX.tailnet.example", "fairlead.example.org.", "127.0.0.1:8466"):
        assert status_for({"Host": host, **AUTH}, allowed=names) == 200
        origin = {"Origin": "https://fairlead.example.org", "Sec-Fetch-Site": "same-origin"}
        assert status_for({"Host": host, **origin, **AUTH}, allowed=names) == 200
    for host in ("tailnet.example", "x.fairlead.example.org", "fairlead.example.org.evil.example"):
        assert status_for({"Host": host, **AUTH}, allowed=names) == 403
        origin = {"Origin": f"https://{host}"}
        assert status_for({"Host": "fairlead.example.org", **origin, **AUTH}, allowed=names) == 403
    assert status_for({"Host": "fairlead.example.org"}, allowed=names) == 401, "a name opens nothing without the token"


@pytest.mark.req("C5", "G4")
def test_another_program_on_the_same_machine_is_another_site():
    """Browsers send cookies to every port of a name, and over plain HTTP they say no `Sec-Fetch-Site`."""
    names = ("box.example",)

    def post(host: str, origin: str) -> int:
        return status_for({"Host": host, "Origin": origin}, access="form", allowed=names)

    assert post("box.example:8466", "http://box.example:8466") == 200
    assert post("box.example:443", "https://box.example") == 200
    assert post("box.example", "https://box.example:8443") == 200, "a proxy that leaves the port out"
    assert post("127.0.0.1:8466", "https://box.example:8443") == 200, "a proxy that changes Host"
    for origin in ("http://box.example:3000", "http://box.example", "https://box.example", "null"):
        assert post("box.example:8466", origin) == 403, origin


def test_a_link_on_another_site_may_lead_to_the_page_and_to_nothing_else():
    clicked = {"Host": "localhost", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert status_for(clicked, access="page") == 200
    assert status_for({**clicked, "Sec-Fetch-Mode": "no-cors"}, access="page") == 403
    assert status_for(clicked, access="public") == 403
    assert status_for({**clicked, **AUTH}) == 403


@pytest.mark.req("A13")
@given(st.text())
def test_only_the_token_opens(given_token: str):
    expected = 200 if given_token.strip() == TOKEN else 401
    assert status_for({"Host": "localhost", "Authorization": f"Bearer {given_token}"}) == expected


@pytest.mark.anyio
@pytest.mark.req("C5", "A13")
@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic abc", "Bearer \udcff"])
async def test_without_the_token_nothing_is_answered(tmp_path: Path, header: str):
    async with run_daemon_in(tmp_path) as daemon:
        headers = {"Authorization": header.encode("utf-8", "surrogateescape").decode("latin-1")}
        for path in ("/v1/status?userId=alice", "/v1/metrics", "/v1/jobs/job_1", "/nowhere"):
            status, refused = await daemon.get(path, headers=headers)
            assert (status, refused["error"]["code"]) == (401, "E_UNAUTHORIZED")
        assert (await daemon.get("/v1/health", headers=headers))[0] == 200


@pytest.mark.anyio
@pytest.mark.req("C5")
@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}], ids=str
)
async def test_a_page_on_another_site_reaches_nothing(tmp_path: Path, headers: dict[str, str]):
    async with run_daemon_in(tmp_path) as daemon:
        for path in ("/v1/health", "/openapi.json", "/v1/projects"):
            async with daemon.http.get(daemon.url + path, headers=headers) as response:
                assert response.status == 403
                assert not any(name.lower().startswith("access-control") for name in response.headers)
        async with daemon.http.options(f"{daemon.url}/v1/messages", headers=headers) as response:
            assert response.status == 403


@pytest.mark.anyio
@pytest.mark.req("C5")
async def test_the_setting_allows_a_name_and_a_refusal_names_the_setting(tmp_path: Path):
    async with run_daemon_in(tmp_path, FAIRLEAD_HTTP_ALLOWED_HOSTS="Box.example.org, other.example") as daemon:
        for name, expected in (("box.example.org", 200), ("other.example:80", 200), ("evil.example", 403)):
            status, reply = await daemon.get("/v1/projects", headers={"Host": name})
            assert (name, status) == (name, expected)
    assert "FAIRLEAD_HTTP_ALLOWED_HOSTS" in reply["error"]["next"]


@pytest.mark.anyio
async def test_a_broken_request_is_logged_in_one_line_and_its_token_is_not(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    async with run_daemon_in(tmp_path) as daemon:
        host, port = daemon.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET /v1/health HTTP/1.1\r\nAuthorization: Bearer {daemon.token}\x7f\r\n\r\n".encode())
        assert b" 400 " in await reader.readline()
        writer.close()
        token = daemon.token
    logged = (tmp_path / "logs/app.ndjson").read_text()
    printed = capfd.readouterr()
    assert "Error handling request" in logged
    assert not [text for text in (logged, printed.err) if token in text or "Traceback" in text]
