"""Who may knock."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.channels.http.errors import HttpRefusal
from fairlead.channels.http.guard import RequestGuard
from tests.channels.harness import at_home

TOKEN = "t" * 43
AUTH = {"Authorization": f"Bearer {TOKEN}"}


def status_for(headers: dict[str, str], *, bound: str = "127.0.0.1", public: bool = False) -> int:
    try:
        RequestGuard(TOKEN, bound).admit(headers, public=public)
    except HttpRefusal as refused:
        return refused.status
    return 200


@pytest.mark.req("C5")
@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:7720", "[::1]:7720", "127.1.2.3"])
def test_loopback_names_are_ours(host: str):
    assert status_for({"Host": host, **AUTH}) == 200


@pytest.mark.req("C5")
@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:7720", "127.0.0.1.evil.example", "10.0.0.7", "[", ":"]
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
    assert status_for({"Host": "localhost", "Sec-Fetch-Site": "cross-site"}, public=True) == 403


@pytest.mark.req("A13")
@given(st.text())
def test_only_the_token_opens(given_token: str):
    expected = 200 if given_token.strip() == TOKEN else 401
    assert status_for({"Host": "localhost", "Authorization": f"Bearer {given_token}"}) == expected


@pytest.mark.anyio
@pytest.mark.req("C5", "A13")
@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic abc", "Bearer \udcff"])
async def test_without_the_token_nothing_is_answered(tmp_path: Path, header: str):
    async with at_home(tmp_path) as home:
        headers = {"Authorization": header.encode("utf-8", "surrogateescape").decode("latin-1")}
        for path in ("/v1/status?userId=alice", "/v1/metrics", "/v1/jobs/job_1", "/nowhere"):
            status, refused = await home.get(path, headers=headers)
            assert (status, refused["error"]["code"]) == (401, "E_UNAUTHORIZED")
        assert (await home.get("/v1/health", headers=headers))[0] == 200


@pytest.mark.anyio
@pytest.mark.req("C5")
@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}], ids=str
)
async def test_a_page_on_another_site_reaches_nothing(tmp_path: Path, headers: dict[str, str]):
    async with at_home(tmp_path) as home:
        for path in ("/v1/health", "/openapi.json", "/v1/projects"):
            async with home.http.get(home.url + path, headers=headers) as response:
                assert response.status == 403
                assert not any(name.lower().startswith("access-control") for name in response.headers)
        async with home.http.options(f"{home.url}/v1/messages", headers=headers) as response:
            assert response.status == 403
