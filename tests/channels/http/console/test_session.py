"""A session in the browser: saying something, watching it grow, cancelling, retrying, choosing; with forms alone."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.channels.harness import run_daemon_in
from tests.channels.http.console.harness import a_browser, tags_in

pytestmark = pytest.mark.anyio
ME = "/console/session/me"


async def swapped(changes: Any, *wanted: str) -> str:
    """The first element that has all of these words."""
    async for _, name, data in changes:
        if name == "swap":
            for html in data:
                if all(word in html for word in wanted):
                    return html
    raise AssertionError(f"the stream ended without {wanted}")


@pytest.mark.req("G2", "G5")
async def test_what_is_sent_is_answered_on_the_page_and_counts_as_fetched(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        assert "Nothing was said here yet" in (await browser.open(ME)).text
        async with browser.changes(ME) as changes:
            sent = await browser.post(f"{ME}/send", {"message": "**bold** <b>", "key": "abcdefgh"})
            assert (sent.status, sent.headers["Location"]) == (303, ME)
            turn = await swapped(changes, "turn-job", "is-success")
        assert "<strong>bold</strong> &lt;b&gt;" in turn
        here = daemon.flow.ledger.state.jobs[f"job_{turn_name(turn)}"].conversation
        assert (here.channel, daemon.flow.view.unfetched_jobs(here)) == ("console", [])
        again = await browser.post(f"{ME}/send", {"message": "**bold** <b>", "key": "abcdefgh"})
        assert (again.status, len(daemon.flow.ledger.state.jobs)) == (303, 1), (
            "a form that is sent twice is one message"
        )


def turn_name(html: str) -> str:
    ids = [a.get("id") or "" for _, a in tags_in(html)]
    return next(one for one in ids if one.startswith("turn-")).removeprefix("turn-job_")


@pytest.mark.req("G5")
async def test_text_grows_as_it_is_said_and_each_piece_says_where_it_belongs(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        async with browser.changes(ME) as changes:
            await browser.post(f"{ME}/send", {"message": "/slow 5 one two three four five six"})
            shown = ""
            async for _, name, data in changes:
                if name == "text":
                    assert data["at"] == len(shown)
                    shown += data["text"]
                elif any("growing" in html for html in data):
                    first = next(html for html in data if "growing" in html)
                    shown = first.partition('data-in="live-')[2].partition(">")[2].partition("<")[0]
                if name == "swap" and any("is-success" in html for html in data):
                    break


@pytest.mark.req("G2")
async def test_a_turn_that_runs_is_cancelled_and_tried_again(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        async with browser.changes(ME) as changes:
            await browser.post(f"{ME}/send", {"message": "/hang"})
            await swapped(changes, "is-running", "Cancel")
            await browser.post(f"{ME}/send", {"message": "behind it"})
            await swapped(changes, "is-queued", "Queued (number 1)")
            assert (await browser.post(f"{ME}/stop")).status == 303
            await swapped(changes, "session-head", "Idle")
            await browser.post(f"{ME}/send", {"message": "/fail E_RUNTIME_HUNG"})
            failed = await swapped(changes, "is-failed", "Retry")
            job = f"job_{turn_name(failed)}"
            assert (await browser.post(f"/console/job/{job}/retry")).status == 303
            await swapped(changes, "(another attempt)")


@pytest.mark.req("G2", "F6")
async def test_a_text_is_steered_into_the_turn_that_runs_or_waits_as_a_message(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        async with browser.changes(ME) as changes:
            await browser.post(f"{ME}/send", {"message": "/slow 2"})
            await swapped(changes, "is-running")
            assert (await browser.post(f"{ME}/send", {"message": "and this", "steer": "1"})).status == 303
            jobs = daemon.flow.ledger.state.jobs.values()
            assert len([job for job in jobs if job.steers or job.steered_into]) == 1  # it waits, or is on its way


@pytest.mark.req("G2", "F6")
async def test_a_message_that_waits_is_given_to_the_turn_that_runs_by_its_button(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        async with browser.changes(ME) as changes:
            await browser.post(f"{ME}/send", {"message": "/slow 2"})
            await swapped(changes, "is-running")
            await browser.post(f"{ME}/send", {"message": "and this"})
            waiting = await swapped(changes, "is-queued", "Steer now")
            job = f"job_{turn_name(waiting)}"
            assert (await browser.post(f"/console/job/{job}/steer")).status == 303
            await swapped(changes, job, "is-steered")


@pytest.mark.req("G2")
async def test_agent_model_and_mode_are_chosen_and_a_session_is_reset(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await browser.post(f"{ME}/send", {"message": "hello"})
        page = (await browser.open(ME)).text
        assert {"choose-tool", "choose-model", "choose-mode"} <= {a.get("id") for _, a in tags_in(page)}
        assert (await browser.post(f"{ME}/model", {"choice": "echo-2"})).status == 303
        assert (await browser.post(f"{ME}/mode", {"choice": "plan"})).status == 303
        assert (await browser.post(f"{ME}/tool", {"choice": "nobody"})).status == 400
        assert (await browser.post(f"{ME}/dance", {})).status == 400
        assert (await browser.post(f"{ME}/reset")).status == 303
        session = daemon.flow.ledger.state.sessions["agent:fairlead:user:local"]
        assert (session.models, session.generation) == ({"echo": "echo-2"}, 1)


@pytest.mark.req("G2")
async def test_an_image_goes_to_the_agent_with_the_message(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        form = aiohttp.FormData()
        form.add_field("message", "look")
        form.add_field("files", b"\x89PNG\r\n\x1a\n", filename='..\\"><script>.png', content_type="image/png")
        assert (await browser.post(f"{ME}/send", form)).status == 303
        (job,) = daemon.flow.ledger.state.jobs.values()
        assert [(a.media_type, a.size) for a in job.attachments] == [("image/png", 8)]
        page = (await browser.open(ME)).text
        assert "<script>.png" not in page


@pytest.mark.req("G2", "G3")
async def test_the_files_of_an_answer_are_shown_if_they_are_pictures(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser, a_browser(daemon) as stranger:
        await browser.log_in()
        await daemon.say("alice", "/image")
        path = "/console/session/agent%3Afairlead%3Auser%3Aalice"
        page = (await browser.open(path)).text
        (source,) = [a["src"] or "" for tag, a in tags_in(page) if tag == "img"]
        async with browser.http.get(daemon.url + source) as picture:
            assert (picture.status, picture.content_type) == (200, "image/png")
            assert picture.headers["Content-Security-Policy"] == "sandbox"
        assert (await stranger.open(source)).status == 401
        assert (await browser.open(source.replace("files/0", "files/9"))).status == 404


@pytest.mark.req("G2")
async def test_a_long_answer_is_cut_and_its_whole_is_a_text(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        _, job = await daemon.say("alice", "/long 300000")
        page = (await browser.open("/console/session/agent%3Afairlead%3Auser%3Aalice")).text
        assert len(page) < 250_000
        whole = await browser.open(f"/console/job/{job['job_id']}/answer.txt")
        assert (whole.text, whole.headers["Content-Type"]) == (job["answer"], "text/plain; charset=utf-8")


@pytest.mark.req("G4")
async def test_a_guest_talks_in_their_own_session_and_finds_no_other(tmp_path: Path):
    people = {"FAIRLEAD_ALLOWED_USER_IDS": ("4711",), "DISCORD_OWNER_ID": "1"}
    async with run_daemon_in(tmp_path, **people) as daemon, a_browser(daemon) as guest:
        await guest.log_in("4711")
        _, private = await daemon.say("alice", "secret")
        for path in (
            "/console/session/agent%3Afairlead%3Auser%3Aalice",
            f"/console/job/{private['job_id']}/answer.txt",
            f"/console/why/{private['job_id']}",
        ):
            assert (await guest.open(path)).status == 404, path
        assert (await guest.post(f"/console/job/{private['job_id']}/retry")).status == 404
        async with guest.changes(ME) as changes:
            assert (await guest.post(f"{ME}/send", {"message": "hello"})).status == 303
            await swapped(changes, "is-success", "4711")
            await daemon.say("alice", "secret again")
            await guest.post(f"{ME}/send", {"message": "bye"})
            assert "secret" not in await swapped(changes, "bye", "is-success")
        assert "alice" not in (await guest.open("/console/sessions")).text
        assert (await guest.post(f"{ME}/mode", {"choice": "plan"})).status == 403


@pytest.mark.req("G2")
async def test_what_the_owner_says_in_another_persons_session_is_answered_to_the_owner(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await daemon.say("alice", "hello")
        path = "/console/session/agent%3Afairlead%3Auser%3Aalice"
        async with browser.changes(path) as changes:
            assert (await browser.post(f"{path}/send", {"message": "from the owner"})).status == 303
            await swapped(changes, "from the owner", "is-success")
        jobs = daemon.flow.view.history("agent:fairlead:user:alice")
        assert [(job.person, job.answer_owed) for job in jobs] == [("alice", False), ("local", False)]


@pytest.mark.req("G5")
async def test_two_people_and_two_pages_see_the_same(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as one, a_browser(daemon) as two:
        await one.log_in()
        await two.log_in()
        async with one.changes(ME) as first, two.changes(ME) as second:
            await one.post(f"{ME}/send", {"message": "hello"})
            shown = await asyncio.gather(swapped(first, "is-success"), swapped(second, "is-success"))
    assert turn_name(shown[0]) == turn_name(shown[1])


@pytest.mark.req("G2")
async def test_earlier_turns_are_on_pages_of_their_own(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        for number in range(15):
            await daemon.say("alice", f"number {number}.")
        path = "/console/session/agent%3Afairlead%3Auser%3Aalice"
        latest = (await browser.open(path)).text
        assert ("number 14." in latest, "number 2." in latest) == (True, False)
        earlier = next(a["href"] or "" for tag, a in tags_in(latest) if "before=" in (a.get("href") or ""))
        assert "number 2." in (await browser.open(earlier)).text


@pytest.mark.req("G2")
async def test_a_question_in_a_session_names_it_as_people_do(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await daemon.until(await daemon.begin("alice", "/ask ls"), "question")
        page = (await browser.open("/console/session/agent%3Afairlead%3Auser%3Aalice")).text
        assert "<bdi>alice</bdi></a> · " in page
        assert "<bdi>agent:fairlead:user:alice</bdi>" not in page


@pytest.mark.req("G2", "G5")
async def test_a_session_leads_to_those_that_it_started_while_they_work(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await daemon.say("alice", "hello")
        page = "/console/session/agent%3Afairlead%3Auser%3Aalice"
        async with browser.changes(page) as changes:
            status, started = await daemon.post("/v1/spawn", {"userId": "alice", "task": "/ask ls"})
            assert status == 200, started
            async for _, name, data in changes:
                if name == "swap" and "Sessions that it started:" in data[0]:
                    break
        assert "Sessions that it started:" in (await browser.open(page)).text
