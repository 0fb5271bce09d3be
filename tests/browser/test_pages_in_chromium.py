"""Changes, search, the first login, two people, a wire that is cut, no script: in a real Chromium."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fairlead.render.console.layout import NAV
from tests.browser.stage import DaemonProcess, Stage, wait_until
from tests.browser.test_console_in_chromium import EVIL, ME, overflow, serious_faults
from tests.browser.wire import Wire
from tests.git.harness import make_repository

pytestmark = pytest.mark.browser
CODE = 'def greet(name):\n    """Say hello."""\n    print("hello", name)\n\n\ngreet("world")\n'
NEW_CODE = CODE.replace('print("hello", name)', 'print(f"good morning, {name}")').replace('"world"', '"everybody"')
EVIL_NAME = "<img src=x onerror=alert(1)>\u202e\u2066 gnp.py"
both_sizes = pytest.mark.parametrize("look", ["phone-light", "desk-dark"], indirect=True)


def change_files(stage: Stage, *, evil: bool = False) -> str:
    """The id of a turn during which these files changed."""
    project = stage.daemon.directory / "proj"
    if not (project / ".git").exists():
        make_repository(project)
    (project / "greet.py").write_text(CODE)
    begun = stage.daemon.say("local", "/ask ls\n/write notes.txt some words\nDone: the greeting is friendlier.", wait=0)
    stage.page.wait_for_selector("text=The agent asks for permission")
    (project / "greet.py").write_text(NEW_CODE)
    if evil:
        (project / EVIL_NAME).write_text(f"{EVIL}\n\u202eevil = 1\n" + "x" * 5000 + "\n")
    stage.daemon.allow_all(begun["job_id"])
    return begun["job_id"]


@pytest.mark.req("G7", "G9")
def test_changes_are_read_and_a_line_is_quoted_in_a_message(stage: Stage):
    page = stage.page
    job_id = change_files(stage)
    stage.open(ME)
    page.click("a.button:has-text('Changes')")
    page.wait_for_url(re.compile(job_id))
    removed, added = (page.locator(f"#page .line.{kind}").first.bounding_box() for kind in ("removed", "added"))
    is_beside = removed["y"] == added["y"] and added["x"] > removed["x"]
    is_below = removed["x"] == added["x"] and added["y"] > removed["y"]
    assert (is_beside, is_below) == ((True, False) if stage.look.startswith("desk") else (False, True))
    stage.take_picture("changes")
    assert serious_faults(stage) == []
    assert overflow(stage) <= 0
    page.click(".line.added code:has-text('good morning')")
    assert page.input_value("#message") == '> greet.py:3\n> +    print(f"good morning, {name}")\n\n'
    page.keyboard.type("why this?")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile("/console/session/"))
    page.wait_for_selector(".turn.is-success:has-text('why this?')")


@pytest.mark.req("G7", "G9")
@both_sizes
def test_a_turn_is_undone_and_redone_and_lines_are_reached_by_keyboard(stage: Stage):
    page = stage.page
    job_id = change_files(stage)
    written = stage.daemon.directory / "proj" / "notes.txt"
    stage.open(f"/console/job/{job_id}/changes")
    page.focus("a.n >> nth=0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.input_value("#message").startswith("> greet.py:")
    assert page.evaluate("document.activeElement.id") == "message"
    page.click("#undo summary")
    page.select_option("#undo-what", "files")
    page.click("#undo button:has-text('Undo')")
    page.click("#undo button:has-text('Redo')")
    page.wait_for_selector("#undo summary:has-text('Undo')")
    assert written.exists()


@pytest.mark.req("G7", "G3", "G9")
def test_hostile_names_and_lines_of_files_are_text(stage: Stage):
    page = stage.page
    job_id = change_files(stage, evil=True)
    for path in (f"/console/job/{job_id}/changes", ME, "/", "/console/search?q=" + "%3Cscript%3E"):
        stage.open(path)
        page.wait_for_selector("#page")
        assert page.evaluate("window.pwned") is None
        assert page.locator("#page img, #page script, #page style").count() == 0, path
        assert overflow(stage) <= 0, path
    stage.open(f"/console/job/{job_id}/changes")
    assert "\u202e" not in page.locator("#page").inner_text()
    assert serious_faults(stage) == []


@pytest.mark.req("G7", "G9")
@both_sizes
def test_words_are_searched_for_and_the_turn_is_found(stage: Stage):
    page = stage.page
    for number in range(15):
        stage.daemon.say("alice", f"the lighthouse of day-{number:02}.")
    stage.open("/console/search")
    page.fill("#find", "lighthouse day-01.")
    page.press("#find", "Enter")
    page.wait_for_selector("#found-texts mark")
    stage.take_picture("search")
    assert serious_faults(stage) == []
    assert overflow(stage) <= 0
    page.click("#found-texts a.title >> nth=0")
    page.wait_for_selector(".turn:target:has-text('day-01.')")


@pytest.mark.req("G7", "G1", "G2")
def test_axe_finds_nothing_serious_on_any_page(stage: Stage):
    job_id = stage.daemon.say("alice", "# Title\n\n```python\nprint(1)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |")[
        "job_id"
    ]
    stage.daemon.say("bob", "/fail E_RUNTIME_HUNG", wait=0)
    stage.daemon.say("carol", "/question Which? | a | b", wait=0)
    stage.daemon.say("dave", "/todo +look | >fix it\n/task 600 look at the docs", wait=0)
    paths = [path for _, path, _ in NAV]
    people = [f"/console/session/agent%3Afairlead%3Auser%3A{name}" for name in ("alice", "bob", "carol", "dave")]
    for path in [*paths, *people, f"/console/why/{job_id}", "/console/session/nobody"]:
        stage.open(path)
        stage.page.wait_for_selector("#page")
        assert serious_faults(stage) == [], path
        assert overflow(stage) <= 0, path
        assert stage.page.locator("h1").count() == 1, path
        stage.take_picture(f"page-{path.strip('/').replace('/', '-').replace('%3A', '-') or 'now'}")


@pytest.mark.req("G7", "G4")
def test_the_first_login_is_by_the_link_that_the_command_prints(
    daemon: DaemonProcess, look: str, new_context: Callable[..., Any]
):
    command = [sys.executable, "-c", "from fairlead.cli.main import main; main()", "console", "--print"]
    printed = subprocess.run(command, env=daemon.environment, cwd=daemon.directory, capture_output=True, check=True)
    (link,) = re.findall(r"http://\S+/console/enter\?code=\S+", printed.stdout.decode())
    page = new_context(look).new_page()
    page.goto(link)
    page.wait_for_selector("#summary")
    assert page.url == f"{daemon.url}/"
    again = new_context(look).new_page()
    again.goto(link)
    assert "You are not logged in" in again.inner_text("main")


@pytest.mark.req("G7", "G2")
@both_sizes
def test_without_a_script_everything_is_read_and_every_button_works(
    daemon: DaemonProcess, look: str, new_context: Callable[..., Any]
):
    page = new_context(look, java_script_enabled=False).new_page()
    page.goto(daemon.url + daemon.ask("POST", "/v1/console/links", {})["path"])
    page.click("button:has-text('Open the console')")
    page.goto(f"{daemon.url}{ME}")
    page.fill("#message", "**bold** words")
    page.click("#send button")
    daemon.say("alice", "behind it")
    page.reload()
    assert page.locator(".turn.is-success strong:has-text('bold')").count() == 1
    daemon.say("alice", "/ask rm -rf build", wait=0)
    page.goto(f"{daemon.url}/")
    page.click("#q-q_1 button[value=allow]")
    assert page.locator("#q-q_1").count() == 0
    page.goto(f"{daemon.url}/console/search?q=bold")
    assert page.locator("#found-texts mark").count() >= 1


@pytest.mark.req("G7", "G4", "G5")
def test_two_people_in_two_tabs_each_see_what_they_may_see(tmp_path: Path, new_context: Callable[..., Any]):
    people = {"FAIRLEAD_ALLOWED_USER_IDS": "4711", "DISCORD_OWNER_ID": "1"}
    with DaemonProcess(tmp_path, **people) as daemon:
        owner = Stage(daemon, new_context("desk-light"), "desk-light")
        owner.log_in()
        guest = Stage(daemon, new_context("phone-dark"), "phone-dark")
        guest.log_in("4711")
        daemon.say("alice", "a secret of alice", wait=0)
        daemon.say("alice", "/ask rm secret", wait=0)
        second = owner.new_page()
        second.goto(daemon.url)
        owner.page.wait_for_selector("#q-q_1")
        second.click("#q-q_1 button[value=deny]")
        owner.page.wait_for_selector("#q-q_1", state="detached")
        guest.open(ME)
        guest.send("a word of the guest")
        guest.page.wait_for_selector(".turn.is-success")
        owner.page.goto(f"{daemon.url}/console/session/agent%3Afairlead%3Auser%3A4711")
        owner.send("a word of the owner")
        guest.page.wait_for_selector(".turn.is-success:has-text('a word of the owner')")
        for path in ("/", "/console/sessions", "/console/search?q=secret", "/console/why", "/console/logins"):
            guest.open(path)
            assert "alice" not in guest.page.inner_text("#page"), path
        assert serious_faults(guest) == []
        assert [*owner.problems, *guest.problems] == []


@pytest.mark.req("G7", "G5")
def test_an_answer_grows_while_the_wire_is_cut_again_and_again(
    daemon: DaemonProcess, look: str, new_context: Callable[..., Any]
):
    with Wire(daemon.port) as wire:
        stage = Stage(daemon, new_context(look), look, wire.url)
        stage.log_in()
        stage.open(ME)
        stage.send("\n".join("/long 500\n/tool Bash ls\n/slow 0.5" for _ in range(6)))
        page = stage.page
        for part in (0, 2, 4, 6):
            page.wait_for_selector(f"[id^=part-][id$='-{part}'].growing")
            wire.cut()
        page.wait_for_selector(".turn.is-success")
        path = "document.querySelector('.turn').id.replace('turn-', '/console/job/') + '/answer.txt'"
        answer = page.evaluate(f"fetch({path}).then((reply) => reply.text())")
        shown = page.locator(".turn .md").inner_text()
        assert shown.split() == answer.split()
        assert wire.cuts == 4


@pytest.mark.req("G7", "G5")
@pytest.mark.parametrize("look", ["desk-light"], indirect=True)
def test_a_tab_that_slept_for_an_hour_is_right_within_a_second(
    daemon: DaemonProcess, look: str, new_context: Callable[..., Any]
):
    """In the background the connection died without a word, and an hour passed on the page's clock."""
    with Wire(daemon.port) as wire:
        stage = Stage(daemon, new_context(look), look, wire.url)
        stage.page.clock.install()
        stage.log_in()
        stage.open(ME)
        stage.send("before")
        page = stage.page
        page.wait_for_selector(".turn.is-success")
        hide(page)
        wire.fall_silent()
        daemon.say("local", "said meanwhile")
        page.clock.fast_forward("01:00:00")
        show(page)
        page.wait_for_selector(".turn.is-success:has-text('said meanwhile')", timeout=1_000)


@pytest.mark.req("G7", "G5")
@pytest.mark.parametrize("look", ["desk-light"], indirect=True)
def test_a_person_with_many_tabs_finds_each_of_them_live(stage: Stage):
    """Browsers open six connections to one server, and an open stream is one."""
    stage.open(ME)
    stage.send("before")
    stage.page.wait_for_selector(".turn.is-success")
    address, context = stage.page.url, stage.page.context
    for _ in range(8):
        tab = context.new_page()
        tab.clock.install()
        with tab.expect_response(lambda response: "/console/events" in response.url):
            tab.goto(address)
        hide(tab)
        tab.clock.fast_forward("00:30")
    show(tab)
    stage.daemon.say("local", "said meanwhile")
    tab.wait_for_selector(".turn.is-success:has-text('said meanwhile')")


def hide(page: Any) -> None:
    page.evaluate(
        "Object.defineProperty(document, 'visibilityState', {get: () => window.hidden_now ? 'hidden' : 'visible'});"
        "window.hidden_now = true; document.dispatchEvent(new Event('visibilitychange'))"
    )


def show(page: Any) -> None:
    page.evaluate("window.hidden_now = false; document.dispatchEvent(new Event('visibilitychange'))")


@pytest.mark.req("G7", "G5")
@both_sizes
def test_a_turn_that_a_crash_interrupted_is_shown_so_and_tried_again(stage: Stage):
    page = stage.page
    stage.open(ME)
    stage.send("/long 300\n/hang")
    page.wait_for_selector(".turn.is-running .growing")
    stage.daemon.stop(signal.SIGKILL)
    page.wait_for_selector("#stream-state[data-kind=away]")
    stage.daemon.start()
    page.click(".turn.is-unknown_after_crash button:has-text('Retry')")
    page.click(".turn.is-running button:has-text('Cancel')")
    page.wait_for_selector(".turn.is-cancelled")


@pytest.mark.req("G7", "G2", "G5")
@both_sizes
def test_text_is_seen_as_it_is_said_and_the_reader_is_not_moved(stage: Stage):
    page = stage.page
    stage.open(ME)
    stage.send("/long 9000")
    page.wait_for_selector(".turn.is-success")
    stage.send("/long 2000\n/slow 1\n/long 2000\n/slow 1")
    page.wait_for_selector(".turn.is-running .growing")
    page.evaluate("document.scrollingElement.scrollTop = 300")
    length = "Math.max(...[...document.querySelectorAll('.growing')].map((e) => e.textContent.length))"
    before = page.evaluate(length)
    wait_until(page, f"document.querySelector('.turn.is-running') && {length} > {before}")
    assert abs(page.evaluate("document.scrollingElement.scrollTop") - 300) <= 2
    page.wait_for_selector(".turn.is-running", state="detached")


@pytest.mark.req("G7", "G5")
@pytest.mark.parametrize("look", ["desk-light"], indirect=True)
def test_notifications_are_shown_where_they_are_allowed_and_nobody_looks(
    daemon: DaemonProcess, look: str, new_context: Callable[..., Any]
):
    context = new_context(look)
    context.add_init_script(
        "window.shown = []; window.Notification = class { static permission = 'default';"
        "static async requestPermission() { return (Notification.permission = 'granted'); }"
        "constructor(title, more) { shown.push([title, more.body]); } close() {} };"
    )
    stage = Stage(daemon, context, look)
    stage.log_in()
    page = stage.page
    page.click("button:has-text('Notify me')")
    wait_until(page, "shown.length === 1")
    assert page.locator("button:has-text('Notify me'):visible").count() == 0
    daemon.say("alice", "/ask first", wait=0)
    page.wait_for_selector("#q-q_1")
    assert page.evaluate("shown.length") == 1, "the page is looked at"
    page.evaluate(
        "Object.defineProperty(document, 'visibilityState', {get: () => 'hidden'}); localStorage.removeItem('looked')"
    )
    daemon.say("bob", "/ask second", wait=0)
    wait_until(page, "shown.length === 2")
    assert page.evaluate("shown[1]") == ["An agent asks you", "Run second"]


@pytest.mark.req("G7", "G1", "G2")
def test_a_thousand_sessions_are_listed_paged_and_found(daemon: DaemonProcess, new_context: Callable[..., Any]):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: daemon.say(f"user{number:04}", "hello", wait=0), range(1000)))
    for shown in ("phone-light", "phone-dark", "desk-light", "desk-dark"):
        stage = Stage(daemon, new_context(shown), shown)
        stage.log_in()
        stage.open("/console/sessions")
        page = stage.page
        assert page.inner_text("h1 .count") == "1000"
        assert page.locator("#sessions li").count() == 50
        page.click("text=More sessions")
        page.wait_for_url(re.compile("after="))
        page.fill("#find", "user0007")
        page.press("#find", "Enter")
        page.wait_for_url(re.compile("q=user0007"))
        assert page.locator("#sessions li").count() == 1
        assert serious_faults(stage) == []
        stage.open("/")
        assert overflow(stage) <= 0
        assert stage.problems == []
