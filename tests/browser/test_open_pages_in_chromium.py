"""What happens to a page while it is open, and to a browser that is somewhere else: in a real Chromium."""

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.stage import DaemonProcess, Stage, wait_until
from tests.browser.test_console_in_chromium import ME, overflow, serious_faults
from tests.git.harness import make_repository

pytestmark = pytest.mark.browser
both_sizes = pytest.mark.parametrize("look", ["phone-dark", "desk-light"], indirect=True)
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645400000"
    "000049454e44ae426082"
)


@pytest.mark.req("G4", "G7")
@both_sizes
def test_a_browser_in_a_private_network_logs_in_and_works_over_plain_http(
    tmp_path: Path, look: str, new_context: Callable[..., Any]
):
    """Such an address is not a safe one for browsers: no `Sec-Fetch-Site`, no `crypto.randomUUID`."""
    with DaemonProcess(tmp_path, FAIRLEAD_HTTP_ALLOWED_HOSTS="fairlead.test") as daemon:
        url = f"http://fairlead.test:{daemon.port}"
        stage = Stage(daemon, new_context(look), look, url)
        stage.log_in()
        stage.open(ME)
        for text in ("first", "second"):
            stage.send(text)
            stage.page.wait_for_selector(f".turn.is-success:has-text('{text}')")
        plain = new_context(look, java_script_enabled=False)
        plain.add_cookies(stage.context.cookies())
        page = plain.new_page()
        page.goto(url + ME)
        page.fill("#message", "third")
        page.click("#send button")
        stage.page.wait_for_selector(".turn.is-success:has-text('third')")
        assert [one for one in stage.problems if "Cross-Origin-Opener-Policy" not in one] == []


@pytest.mark.req("G5", "G9")
@pytest.mark.parametrize("look", ["desk-dark"], indirect=True)
def test_a_button_does_what_it_says_after_somebody_else_pressed_it(stage: Stage):
    """A switch has its next position in a hidden field."""
    page, daemon = stage.page, stage.daemon
    make_repository(daemon.directory / "proj")
    switch = "form[action$='/worktree'] button"
    stage.open("/console/projects")
    page.click("#page details summary")
    before = page.inner_text(switch)
    daemon.ask("POST", "/v1/projects/proj/worktree", {"worktree": True})
    page.wait_for_selector(f"{switch}:not(:text-is('{before}'))")
    page.click(switch)
    page.wait_for_selector(f"{switch}:text-is('{before}')", state="attached")
    assert not daemon.ask("GET", "/v1/projects")["projects"][0].get("worktree")


@pytest.mark.req("G5", "G2")
@pytest.mark.parametrize("look", ["desk-light"], indirect=True)
def test_a_model_that_was_chosen_elsewhere_is_shown_and_one_that_is_being_chosen_stays(stage: Stage):
    stage.open(ME)
    stage.send("hello")
    stage.page.wait_for_selector(".turn.is-success")
    address = f"{stage.url}/console/session/agent%3Afairlead%3Auser%3Alocal"
    tabs = [stage.new_page(), stage.new_page()]
    for tab in tabs:
        tab.goto(address)
        tab.click("#session-settings summary")
    choosing, watching = tabs
    picked = watching.input_value("#choose-model")
    models = watching.eval_on_selector_all("#choose-model option", "all => all.map((one) => one.value)")
    other = next(name for name in models if name != picked)
    stage.page.goto(address)
    stage.page.click("#session-settings summary")
    stage.page.select_option("#choose-model", other)
    stage.page.click("form:has(#choose-model) button")
    wait_until(watching, f"document.querySelector('#choose-model').value === '{other}'")
    wait_until(choosing, f"document.querySelector('#choose-model').value === '{other}'")
    choosing.select_option("#choose-model", picked)
    stage.daemon.ask("POST", "/v1/reset", {"userId": "local"})
    choosing.wait_for_selector("#session-settings")
    stage.send("and now")
    choosing.wait_for_selector(".turn.is-success:has-text('and now')")
    assert choosing.input_value("#choose-model") == picked


@pytest.mark.req("G5", "G4")
@both_sizes
def test_a_login_that_ended_while_the_page_could_not_hear_of_it_leads_out(stage: Stage):
    stage.open(ME)
    stage.daemon.stop(signal.SIGKILL)
    (stage.daemon.state / "console-logins.json").unlink()
    stage.daemon.start()
    stage.page.wait_for_selector("text=You are not logged in")
    assert serious_faults(stage) == []


@pytest.mark.req("G5")
@pytest.mark.parametrize("look", ["phone-light"], indirect=True)
def test_a_page_of_something_that_is_gone_says_so_and_does_not_ask_without_end(stage: Stage):
    page = stage.page
    stage.open(ME)
    stage.send("hello")
    page.wait_for_selector(".turn.is-success")
    gone = stage.context.request.get(f"{stage.url}/console/session/nobody")
    asked: list[str] = []

    def answer(route: Any) -> None:
        asked.append(route.request.url)
        route.fulfill(status=404, content_type="text/html", body=gone.text())

    page.route(re.compile("/console/session/me$"), answer)
    stage.daemon.stop(signal.SIGKILL)
    stage.daemon.start()
    page.wait_for_selector("text=E_SESSION_NOT_FOUND")
    page.wait_for_timeout(1500)
    assert len(asked) <= 2


@pytest.mark.req("G2", "G7")
@both_sizes
def test_an_image_is_attached_and_goes_with_the_message(stage: Stage):
    page = stage.page
    stage.open(ME)
    page.set_input_files("#files", {"name": "<b>plan\u202e.png", "mimeType": "image/png", "buffer": PNG})
    stage.send("what is this?")
    page.wait_for_selector(".turn.is-success .attached:has-text('plan')")
    assert page.input_value("#files") == ""
    assert overflow(stage) <= 0
    assert serious_faults(stage) == []


@pytest.mark.req("G2", "G5", "G7")
@both_sizes
def test_an_answer_of_a_megabyte_grows_on_an_open_page(stage: Stage):
    page = stage.page
    stage.open(ME)
    stage.send("/slow 1\n/long 1000000")
    page.wait_for_selector(".turn.is-running")
    page.fill("#message", "half a prompt")
    page.wait_for_selector(".turn.is-success >> text=The whole answer", timeout=60_000)
    assert page.input_value("#message") == "half a prompt"
    assert overflow(stage) <= 0
    assert serious_faults(stage) == []


@pytest.mark.req("G7")
@both_sizes
def test_a_session_is_led_by_keyboard_alone(stage: Stage):
    """From the menu to a message, its permission and its answer, without a pointer."""
    page = stage.page
    tab_to(page, "Sessions")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/console/sessions"))
    tab_to(page, "Talk to an agent")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/console/session/me"))
    while page.evaluate("document.activeElement.id") != "message":
        page.keyboard.press("Tab")
    page.keyboard.type("/ask rm -rf build")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".card.question")
    page.evaluate("document.activeElement.blur()")
    tab_to(page, "Allow once")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn.is-success")


def tab_to(page: Any, words: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").strip().startswith(words):
            return
    raise AssertionError(f"the keyboard does not reach {words!r}")


@pytest.mark.req("G7")
@both_sizes
def test_nothing_moves_for_who_wants_it_so_and_a_phone_can_install_it(stage: Stage):
    page = stage.page
    stage.open(ME)
    stage.send("/hang")
    badge = "#session-head.is-live .badge"
    page.wait_for_selector(badge)
    motion = f"getComputedStyle(document.querySelector('{badge}')).animationName"
    assert page.evaluate(motion) == "breathe"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(motion) == "none"
    told = stage.context.new_cdp_session(page).send("Page.getAppManifest")
    assert (told["errors"], told["url"]) == ([], f"{stage.url}/console/manifest.webmanifest")
    icons = page.evaluate(
        "fetch('/console/manifest.webmanifest').then((r) => r.json()).then(({icons}) =>"
        " Promise.all(icons.map(({src}) => fetch(src).then((reply) => reply.status))))"
    )
    assert icons == [200, 200, 200]
