"""*Spend*, *Schedules*, *Projects*, *Agents* and *Health* in a real Chromium, from 320 to 2000 pixels, and without a
script."""

from typing import Any

import pytest

from tests.browser.stage import DaemonProcess, Stage
from tests.browser.test_console_in_chromium import overflow, serious_faults

pytestmark = [pytest.mark.browser, pytest.mark.req("G7", "G9")]

PAGES = ("spend", "schedules", "projects", "agents", "health")
WEEKDAYS = {"userId": "alice", "when": "0 9 * * 1-5", "text": "Look at the open pull requests and say which need me."}


def fill(daemon: DaemonProcess) -> None:
    daemon.say("alice", "/usage 120000 3000 0.84")
    daemon.ask("POST", "/v1/budgets/proj", {"usd": "0.50", "tokens": 1_000_000})
    daemon.ask("POST", "/v1/schedules", WEEKDAYS)
    daemon.ask("POST", "/v1/agents/check", {})


def test_each_page_is_whole_at_every_width_and_axe_finds_nothing(stage: Stage):
    fill(stage.daemon)
    for name in PAGES:
        stage.open(f"/console/{name}")
        stage.take_picture(name)
        assert serious_faults(stage) == [], name
        for width in (320, 390, 1280, 2000):
            stage.page.set_viewport_size({"width": width, "height": 844})
            assert overflow(stage) <= 0, f"{name} at {width}"
        for summary in stage.page.locator("#page details > summary").all():
            summary.click()
        assert serious_faults(stage) == [], f"{name}, unfolded"
        assert overflow(stage) <= 0, f"{name}, unfolded"


@pytest.mark.parametrize("look", ["phone-dark", "desk-light"], indirect=True)
def test_the_menu_shows_where_one_is(stage: Stage):
    stage.open("/console/health")
    current = stage.page.locator("#nav [aria-current]")
    assert current.text_content() == "Health"
    box = current.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= stage.page.viewport_size["width"]


@pytest.mark.parametrize("look", ["phone-light", "desk-dark"], indirect=True)
def test_buttons_do_what_they_say_and_a_refusal_stays_on_the_page(stage: Stage):
    page = stage.page
    fill(stage.daemon)
    stage.open("/console/schedules")
    page.click("text=Pause")
    page.wait_for_selector("text=Resume")
    stage.open("/console/spend")
    page.fill("input[name=usd]", "much")
    page.click("text=Set >> nth=-1")
    page.wait_for_selector("#notice:has-text('E_INVALID_ARGS')")
    page.fill("input[name=usd]", "5")
    page.click("text=Set >> nth=-1")
    page.wait_for_selector("text=$0.84 of $5.00")


@pytest.mark.parametrize("look", ["desk-light"], indirect=True)
def test_spending_and_measurements_change_while_the_page_is_open(stage: Stage):
    stage.open("/console/spend")
    stage.daemon.say("alice", "/usage 1000 10 0.25")
    stage.page.wait_for_selector("#spend-chart rect")
    stage.open("/console/health")
    before = stage.page.evaluate("document.querySelector('#journal').textContent")
    stage.daemon.say("alice", "hello")
    stage.page.wait_for_function("was => document.querySelector('#journal').textContent !== was", arg=before)


@pytest.mark.parametrize("look", ["phone-light"], indirect=True)
def test_everything_is_there_without_a_script(stage: Stage, chromium: Any):
    fill(stage.daemon)
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844}, locale="en-GB")
    context.add_cookies(stage.context.cookies())
    page = context.new_page()
    for name in PAGES:
        page.goto(f"{stage.daemon.url}/console/{name}")
        assert page.locator("h1").count() == 1, name
    page.goto(f"{stage.daemon.url}/console/schedules")
    page.click("text=Pause")
    assert page.locator("text=Resume").count() == 1
    context.close()
