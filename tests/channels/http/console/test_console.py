"""Getting in to the console, and what keeps others out."""

import re
from pathlib import Path

import aiohttp
import pytest

from tests.channels.harness import run_daemon_in
from tests.channels.http.console.harness import GUESTS, Browser, a_browser, tags_in

pytestmark = pytest.mark.anyio


@pytest.mark.req("G4")
async def test_a_link_logs_in_once_and_no_secret_stays_in_an_address(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        link = await browser.make_link()
        page = await browser.open(link)
        code = link.partition("code=")[2]
        assert (page.status, f'value="{code}"' in page.text) == (200, True)
        assert (await browser.open("/console/logins")).status == 401, "opening a link is not using it"
        entered = await browser.post("/console/enter", {"code": code})
        assert (entered.status, entered.headers["Location"]) == (303, "/")
        cookie = entered.headers["Set-Cookie"]
        state_id = daemon.flow.view.state_id
        assert re.fullmatch(rf"fairlead-{state_id}=\S+; HttpOnly; Max-Age=2592000; Path=/; SameSite=Strict", cookie)
        now = await browser.open("/")
        assert (now.status, 'id="questions"' in now.text) == (200, True)
        async with a_browser(daemon) as other:
            used = await other.post("/console/enter", {"code": code})
            assert (used.status, "This link was used already" in used.text) == (401, True)
            assert "This link was used already" in (await other.open(link)).text
            assert 'id="questions"' not in (await other.open("/")).text


@pytest.mark.req("G4")
async def test_a_login_survives_a_restart_and_its_file_helps_nobody_to_get_in(tmp_path: Path):
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        async with run_daemon_in(tmp_path) as daemon:
            await Browser(daemon, http).log_in()
        (secret,) = [cookie.value for cookie in http.cookie_jar]
        file = tmp_path / "state" / "console-logins.json"
        assert (file.stat().st_mode & 0o777, secret in file.read_text()) == (0o600, False)
        assert secret not in (tmp_path / "state" / "events.ndjson").read_text()
        async with run_daemon_in(tmp_path) as daemon:
            assert (await Browser(daemon, http).open("/console/logins")).status == 200
        file.write_text("not a list")
        async with run_daemon_in(tmp_path) as daemon:
            assert (await Browser(daemon, http).open("/console/logins")).status == 401


@pytest.mark.req("G4")
async def test_a_login_that_is_used_is_not_forgotten_by_the_browser(tmp_path: Path):
    """Thirty days without use end a login, not thirty days."""
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        entered = await browser.log_in()
        page = await browser.open("/console/sessions")
        assert page.headers["Set-Cookie"] == entered.headers["Set-Cookie"]


@pytest.mark.req("G4")
async def test_every_page_has_the_headers_that_keep_it_alone(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        for path in ("/", "/console/logins", "/console/nowhere", "/console/session/nobody"):
            page = await browser.open(path, Accept="text/html")
            policy = page.headers["Content-Security-Policy"]
            assert {"default-src 'none'", "frame-ancestors 'none'"} <= set(policy.split("; "))
            assert "unsafe" not in policy
            assert page.headers["Referrer-Policy"] == "same-origin"
            assert page.headers["X-Content-Type-Options"] == "nosniff"
            assert page.headers["Cache-Control"] == "no-store"
            for tag, attributes in tags_in(page.text):
                assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
                assert tag != "style"
                assert tag != "script" or attributes["src"]


@pytest.mark.req("G4")
async def test_another_site_and_another_port_get_nothing_done(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        job = await daemon.begin("alice", "/ask rm -rf build")
        await daemon.until(job, "question")
        form = {"verdict": "allow"}
        strange = (
            {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
            {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},
            {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        )
        for headers in strange:
            assert (await browser.post("/console/question/q_1", form, **headers)).status == 403
        async with browser.http.post(daemon.url + "/console/question/q_1", data=form) as bare:
            assert bare.status == 403, "neither Origin nor Sec-Fetch-Site"
        refused = await browser.open(
            "/console/events?of=/", **{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}
        )
        assert refused.status == 403
        assert (await browser.open("/", Host="evil.example")).status == 403
        assert len(daemon.flow.view.open_questions()) == 1


@pytest.mark.req("G4")
async def test_a_link_on_another_site_leads_to_the_page_and_not_to_a_login(tmp_path: Path):
    """The cookie is Strict: a browser sends it only when the page itself asks again."""
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        led = await browser.open(
            "/console/logins?a=1", **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        )
        assert led.status == 200
        refresh = [a["content"] for tag, a in tags_in(led.text) if a.get("http-equiv") == "refresh"]
        assert refresh == ["0;url=/console/logins?a=1"]
        again = await browser.open("/console/logins?a=1", **{"Sec-Fetch-Site": "same-origin"})
        assert again.status == 401


@pytest.mark.req("G4")
async def test_a_login_that_was_ended_is_out_at_once(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser, a_browser(daemon) as phone:
        await browser.log_in()
        await phone.log_in()
        _, listed = await daemon.get("/v1/console/logins")
        assert [login["number"] for login in listed["logins"]] == [1, 2]
        async with phone.changes("/") as changes:
            ended = await browser.post("/console/logins/2/end")
            assert (ended.status, ended.headers["Location"]) == (303, "/console/logins")
            assert [name async for _, name, _ in changes] == ["gone"]
        assert (await phone.open("/console/logins")).status == 401
        assert (await daemon.post("/v1/console/logins/1/end"))[0] == 200
        assert (await daemon.post("/v1/console/logins/1/end"))[0] == 400
        assert (await browser.open("/console/logins")).status == 401


@pytest.mark.req("G4")
async def test_a_guest_sees_what_a_guest_may_see(tmp_path: Path):
    async with (
        run_daemon_in(tmp_path, FAIRLEAD_ALLOWED_USER_IDS=("4711",), DISCORD_OWNER_ID="1") as daemon,
        a_browser(daemon) as guest,
    ):
        status, refused = await daemon.post("/v1/console/links", {"person": "stranger"})
        assert (status, refused["error"]["code"]) == (400, "E_INVALID_USER")
        await guest.log_in("4711")
        private = await daemon.begin("alice", "/ask rm -rf build")
        await daemon.until(private, "question")
        now = await guest.open("/")
        assert [word for word in ("rm -rf build", "alice") if word in now.text] == []
        assert (await guest.post("/console/question/q_1", {"verdict": "allow"})).status == 409
        assert len(daemon.flow.view.open_questions()) == 1


@pytest.mark.req("G4")
async def test_a_guest_is_told_that_a_page_is_the_owners_and_not_that_nobody_is_logged_in(tmp_path: Path):
    async with run_daemon_in(tmp_path, **GUESTS) as daemon, a_browser(daemon) as guest:
        await guest.log_in("4711")
        for path in ("/console/health", "/console/agents"):
            refused = await guest.open(path)
            assert "it is for the owner alone" in refused.text
            assert (refused.status, "E_OWNER_ONLY" in refused.text, "not logged in" in refused.text) == (
                403,
                True,
                False,
            )
        refused = await guest.post(
            "/console/spend/budget", {"project": "proj", "usd": "1"}, **{"X-Fairlead-Script": "1"}
        )
        assert (refused.status, "E_OWNER_ONLY" in refused.text) == (403, True)


@pytest.mark.req("G1", "G4")
async def test_a_person_in_a_browser_reads_what_was_refused_as_a_page(tmp_path: Path):
    """And a program, as JSON."""
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        page = {"Accept": "text/html,*/*;q=0.8"}
        nowhere = await browser.open("/console/nowhere", **page)
        assert (nowhere.status, "<h1>That did not work</h1>" in nowhere.text) == (404, True)
        assert nowhere.headers["Content-Type"].startswith("text/html")
        assert "There is no page at this address." in nowhere.text
        foreign = await browser.post("/console/logins/1/end", Origin="https://evil.example", **page)
        assert (foreign.status, "<h1>" in foreign.text) == (403, True)
        assert (await browser.open("/console/nowhere")).headers["Content-Type"].startswith("application/json")
        assert (await browser.open("/v1/nowhere", **page)).headers["Content-Type"].startswith("application/json")
        too_many = {f"field-{number}": "x" for number in range(300)}
        script = {"X-Fairlead-Script": "1"}
        refused = await browser.post("/console/session/me/send", too_many, **script)
        assert (refused.status, "<p><code>E_INVALID_ARGS</code>" in refused.text) == (400, True)


@pytest.mark.req("G3")
async def test_assets_are_kept_for_ever_under_the_name_of_their_content(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        page = await browser.open("/")
        links = [a.get("href") or a.get("src") or "" for _, a in tags_in(page.text)]
        assets = [link for link in links if link.startswith("/console/assets/")]
        assert len(assets) == 3
        for asset in assets:
            found = await browser.open(asset) if not asset.endswith("png") else None
            if found is not None:
                assert found.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert (await browser.open("/console/assets/console.css")).status == 404
        assert (await browser.open("/console/assets/..%2Fassets.py")).status == 404
        manifest = await browser.open("/console/manifest.webmanifest")
        assert manifest.headers["Content-Type"] == "application/manifest+json"
