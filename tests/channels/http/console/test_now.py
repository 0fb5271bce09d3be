"""Answering questions with the forms of the page, as a browser without a script does."""

from pathlib import Path

import aiohttp
import pytest

from tests.channels.harness import run_daemon_in
from tests.channels.http.console.harness import GUESTS, a_browser

pytestmark = pytest.mark.anyio


@pytest.mark.req("G1")
async def test_a_question_with_several_lists_is_answered_whole_or_not_at_all(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        job = await daemon.begin("alice", "/question Which? | red | blue || How many? | one | two")
        await daemon.until(job, "question")
        refused = await browser.post("/console/question/q_1", {"verdict": "allow", "choice-0": "1"})
        assert (refused.status, "Nothing was chosen for 'How many?'" in refused.text) == (400, True)
        answered = await browser.post("/console/question/q_1", {"verdict": "allow", "choice-0": "1", "choice-1": "0"})
        assert (answered.status, answered.headers["Location"]) == (303, "/")
        done = await daemon.until(job, "done")
        assert [word for word in ("blue", "one") if word not in done.data["job"]["answer"]] == []


@pytest.mark.req("G1")
async def test_words_of_ones_own_answer_a_question_too(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        job = await daemon.begin("alice", "/question Which? | red | blue")
        await daemon.until(job, "question")
        form = {"verdict": "allow", "other-0": "<b>mauve</b>"}
        answered = await browser.post("/console/question/q_1", form, **{"X-Fairlead-Script": "1"})
        assert answered.status == 204
        done = await daemon.until(job, "done")
        assert "<b>mauve</b>" in done.data["job"]["answer"]


@pytest.mark.req("G1")
@pytest.mark.parametrize(
    "form", [{}, {"verdict": "yes"}, {"verdict": "always-99"}, {"verdict": "always-x"}, {"verdict": "always-٣"}]
)
async def test_a_button_that_the_question_does_not_have_answers_nothing(tmp_path: Path, form: dict[str, str]):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await daemon.until(await daemon.begin("alice", "/ask ls"), "question")
        refused = await browser.post("/console/question/q_1", form, **{"X-Fairlead-Script": "1"})
        assert (refused.status, "E_INVALID_ARGS" in refused.text) == (400, True)
        assert len(daemon.flow.view.open_questions()) == 1


@pytest.mark.req("G1")
async def test_allowing_for_the_session_and_by_a_rule_is_written_down_with_the_way_it_came(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        for verdict in ("session", "always-1"):
            job = await daemon.begin("alice", f"/ask make {verdict}")
            question = (await daemon.until(job, "question")).data["question_id"]
            assert (await browser.post(f"/console/question/{question}", {"verdict": verdict})).status == 303
            await daemon.until(job, "done")
        journal = (tmp_path / "state" / "events.ndjson").read_text()
    assert "console/fairlead/local in the browser (login 1) from 127.0.0.1" in journal
    assert '"always":1' in journal


@pytest.mark.req("G1", "G3")
async def test_a_command_that_is_too_long_for_the_page_says_so_and_is_read_whole(tmp_path: Path):
    """Nobody allows what they have not seen."""
    command = f"echo {'x ' * 20_000}; rm -rf \u202e build"
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await daemon.until(await daemon.begin("alice", f"/ask {command}"), "question")
        now = (await browser.open("/")).text
        assert "Only the beginning is shown here: 20021 more characters." in now
        whole = await browser.open("/console/question/q_1/whole.txt")
        assert (whole.headers["Content-Type"], whole.status) == ("text/plain; charset=utf-8", 200)
        assert "; rm -rf <U+202E> build" in whole.text
        assert (await browser.open("/console/question/q_9/whole.txt")).status == 409


@pytest.mark.req("G1")
async def test_a_form_that_no_page_makes_is_refused_and_answers_nothing(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await daemon.until(await daemon.begin("alice", "/question Which? | red | blue"), "question")
        for choice in ("9" * 5000, "-1", "\u0661", "1.0", "2"):
            refused = await browser.post("/console/question/q_1", {"verdict": "allow", "choice-0": choice})
            assert (refused.status, "Nothing was chosen" in refused.text) == (400, True), choice
        files = aiohttp.FormData({"verdict": "allow"})
        files.add_field("choice-0", b"0", filename="0")
        assert (await browser.post("/console/question/q_1", files)).status == 400
        assert len(daemon.flow.view.open_questions()) == 1


@pytest.mark.req("G1", "G4")
async def test_a_guest_allows_once_and_nothing_beyond_it_though_the_form_says_so(tmp_path: Path):
    async with run_daemon_in(tmp_path, **GUESTS) as daemon, a_browser(daemon) as guest:
        await guest.log_in("4711")
        async with guest.changes("/console/session/me") as changes:
            await guest.post("/console/session/me/send", {"message": "/ask pytest -q", "key": "k" * 12})
            async for _, name, data in changes:
                if name == "swap" and any('id="q-q_1"' in html for html in data):
                    break
        for verdict in ("session", "always-1"):
            assert (await guest.post("/console/question/q_1", {"verdict": verdict})).status == 403, verdict
        assert len(daemon.flow.view.open_questions()) == 1
        assert (await guest.post("/console/question/q_1", {"verdict": "allow"})).status == 303
