"""Live changes of an open page, over a real socket."""

from pathlib import Path

import pytest

from fairlead.channels.http.console import stream
from tests.channels.harness import run_daemon_in
from tests.channels.http.console.harness import a_browser, frames_in, stream_in, tags_in

pytestmark = pytest.mark.anyio


@pytest.mark.req("G5", "G1")
async def test_an_open_page_gets_a_question_when_it_is_asked_and_again_when_it_is_settled(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        async with browser.changes("/") as changes:
            await daemon.begin("alice", "/ask rm -rf build")
            names: list[str] = []
            async for _, name, data in changes:
                names.append(name)
                if name == "swap" and any('id="q-q_1"' in html for html in data):
                    break
            attention = [data async for _, name, data in one_more(changes, "attention")]
            assert attention[0]["title"] == "An agent asks you"
            await browser.post("/console/question/q_1", {"verdict": "deny-words", "message": "not now"})
            async for _, name, data in changes:
                if name == "swap" and any("Nothing needs you." in html for html in data):
                    break
        outcome = daemon.flow.view.question("q_1")
        assert outcome is not None
        assert (outcome.outcome, outcome.message, outcome.answered_by) == ("deny", "not now", "local")


@pytest.mark.req("G5")
async def test_a_quiet_stream_beats_and_keeps_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream, "HEARTBEAT_SEC", 0.01)
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        async with browser.changes("/console/sessions") as changes:
            beats = [await anext(changes) for _ in range(3)]
        assert [name for _, name, _ in beats] == ["beat"] * 3
        assert len({place for place, _, _ in beats}) == 1


@pytest.mark.req("G5")
async def test_a_failure_is_told_in_words(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        async with browser.changes("/") as changes:
            await daemon.begin("alice", "/fail E_RUNTIME_HUNG")
            (told,) = [data async for _, _, data in one_more(changes, "attention")]
        assert (told["title"], told["body"]) == (
            "A job failed",
            "The agent stopped responding during its turn and was ended.",
        )


async def one_more(changes, wanted: str):
    async for place, name, data in changes:
        if name == wanted:
            yield place, name, data
            return


@pytest.mark.req("G5")
async def test_a_page_that_was_away_goes_on_where_it_was_and_one_of_an_earlier_process_is_told_of_the_gap(
    tmp_path: Path,
):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        address = stream_in((await browser.open("/")).text)
        await daemon.say("alice", "while it was away")
        async with browser.http.get(daemon.url + address) as response:
            place, name, _ = await anext(frames_in(response))
            assert name == "swap"
        async with browser.http.get(daemon.url + address, headers={"Last-Event-ID": place}) as response:
            await daemon.begin("bob", "hello")
            later, name, _ = await anext(frames_in(response))
            assert (name, int(later.partition(":")[2]) > int(place.partition(":")[2])) == ("swap", True)
        for strange in ("0000:1", "", "x" * 400):
            async with browser.http.get(
                f"{daemon.url}/console/events", params={"of": "/", "since": strange}
            ) as response:
                assert [frame[1] async for frame in frames_in(response)] == ["gap"]


@pytest.mark.req("G5")
async def test_a_page_without_a_stream_has_none(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        assert (await browser.open("/console/events?of=/")).status == 401
        await browser.log_in()
        assert (await browser.open("/console/events?of=/console/logins")).status == 404
        assert (await browser.open("/console/events?of=https://evil.example/x")).status == 404


@pytest.mark.req("G5", "G9")
@pytest.mark.parametrize(
    ("page", "request_path", "body", "shown"),
    [
        ("/console/schedules", "/v1/schedules", {"userId": "alice", "when": "0 9 * * *", "text": "look"}, "0 9 * * *"),
        ("/console/spend", "/v1/budgets/proj", {"usd": "7.50"}, "$7.50"),
        (
            "/console/why",
            "/v1/messages",
            {"userId": "alice", "message": "  "},
            'href="/console/why?outcome=refused#list"',
        ),
        ("/console/session/agent%3Afairlead%3Auser%3Aalice", "/v1/reset", {"userId": "alice"}, "session-head"),
    ],
)
async def test_what_somebody_else_changed_appears_though_no_job_moved(
    tmp_path: Path, page: str, request_path: str, body: dict[str, str], shown: str
):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await daemon.say("alice", "hello")
        async with browser.changes(page) as changes:
            await daemon.post(request_path, body)
            async for _, name, data in changes:
                if name == "swap" and any(shown in html for html in data):
                    break


@pytest.mark.req("G5", "G2")
@pytest.mark.parametrize("setting", ["model", "mode"])
async def test_another_model_or_mode_is_shown_in_every_tab(tmp_path: Path, setting: str):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser, a_browser(daemon) as other:
        await browser.log_in()
        await other.log_in()
        await daemon.say("alice", "hello")
        page = "/console/session/agent%3Afairlead%3Auser%3Aalice"
        offered = (await browser.open(page)).text.partition(f'id="choose-{setting}"')[2].partition("</select>")[0]
        others = [a["value"] or "" for tag, a in tags_in(offered) if tag == "option" and "selected" not in a]
        async with browser.changes(page) as changes:
            assert (await other.post(f"{page}/{setting}", {"choice": others[0]})).status == 303
            async for _, name, data in changes:
                if name == "swap" and any(f'value="{others[0]}" selected' in html for html in data):
                    break
