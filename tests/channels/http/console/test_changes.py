"""Changes in the browser: what a turn did to files, quoting a line, undo and redo; with forms alone."""

from pathlib import Path

import pytest

from tests.channels.harness import run_daemon_in, write_files
from tests.channels.http.console.harness import a_browser, tags_in
from tests.git.harness import make_repository

pytestmark = pytest.mark.anyio
EVIL = "<script>alert(1)</script> \u202eevil"


def links_in(html: str) -> list[str]:
    return [a["href"] or "" for tag, a in tags_in(html) if tag == "a" and a.get("href")]


@pytest.mark.req("G9", "G3")
async def test_all_files_of_a_turn_and_of_a_session_are_on_one_page(tmp_path: Path):
    make_repository(tmp_path / "proj")
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await write_files(daemon, "alice", "one.py x = 1")
        job_id = await write_files(daemon, "alice", "one.py x = 2", f"two.txt {EVIL}")
        session = await browser.open("/console/session/agent%3Afairlead%3Auser%3Aalice")
        path = f"/console/job/{job_id}/changes"
        assert path in links_in(session.text)
        page = (await browser.open(path)).text
        ids = [a.get("id") for _, a in tags_in(page)]
        assert ("file-0" in ids, "file-1" in ids) == (True, True)
        classes = [a.get("class") for _, a in tags_in(page)]
        assert ("line removed" in classes, "line added" in classes) == (True, True)
        assert "<script>alert" not in page
        assert "&lt;U+202E&gt;evil" in page
        whole = (await browser.open(f"{path}?scope=session")).text
        assert "line removed" not in [a.get("class") for _, a in tags_in(whole)], "the file began with the session"
        diff = await browser.open(f"/console/job/{job_id}/changes.diff")
        assert ("+x = 2" in diff.text, diff.headers["Content-Type"]) == (True, "text/plain; charset=utf-8")


@pytest.mark.req("G9")
async def test_a_line_is_quoted_in_a_message_to_the_session(tmp_path: Path):
    make_repository(tmp_path / "proj")
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        job_id = await write_files(daemon, "alice", "one.py x = 1")
        path = f"/console/job/{job_id}/changes"
        (quoting,) = [link for link in links_in((await browser.open(path)).text) if "quote=" in link]
        page = (await browser.open(f"{path}{quoting.partition('#')[0]}")).text
        assert "&gt; one.py:1\n&gt; +x = 1\n\n</textarea>" in page
        (composer,) = [a["action"] or "" for tag, a in tags_in(page) if a.get("id") == "composer"]
        await browser.post(composer, {"message": "> one.py:1\n\nwhy?"})
        assert "why?" in (await browser.open("/console/session/agent%3Afairlead%3Auser%3Aalice")).text
        assert (await browser.open(f"{path}?quote=9.9.9")).status == 200


@pytest.mark.req("G9", "F3")
async def test_a_turn_is_undone_and_redone_by_forms(tmp_path: Path):
    make_repository(tmp_path / "proj")
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        job_id = await write_files(daemon, "alice", "one.py x = 1")
        path = f"/console/job/{job_id}/changes"
        (written,) = tmp_path.rglob("one.py")
        done = await browser.post(f"/console/job/{job_id}/undo", {"what": "files"})
        assert (done.status, done.headers["Location"], written.exists()) == (303, path, False)
        page = (await browser.open(path)).text
        actions = [a["action"] for tag, a in tags_in(page) if tag == "form"]
        assert f"/console/job/{job_id}/redo" in actions
        assert f"/console/job/{job_id}/undo" not in actions
        assert (await browser.post(f"/console/job/{job_id}/redo")).status == 303
        assert written.read_text() == "x = 1\n"
        assert "Undo" in (await browser.open(path)).text


@pytest.mark.req("G9", "G4")
async def test_a_guest_sees_no_files_of_another_persons_turn(tmp_path: Path):
    people = {"FAIRLEAD_ALLOWED_USER_IDS": ("4711",), "DISCORD_OWNER_ID": "1"}
    make_repository(tmp_path / "proj")
    async with run_daemon_in(tmp_path, **people) as daemon, a_browser(daemon) as guest:
        await guest.log_in("4711")
        job_id = await write_files(daemon, "alice", "one.py secret")
        for path in (f"/console/job/{job_id}/changes", f"/console/job/{job_id}/changes.diff"):
            assert (await guest.open(path)).status == 404, path
        assert (await guest.post(f"/console/job/{job_id}/undo")).status == 404
