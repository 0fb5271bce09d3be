"""The pictures of the README and the guide, from a real run: an agent asks, is allowed to, and what it changed is read.
FAIRLEAD_SCREENSHOTS=docs/pictures make test-console PYTEST_ARGS="-k pictures" takes them again."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser import acting_agent
from tests.browser.stage import DaemonProcess, Stage
from tests.browser.test_console_in_chromium import overflow, serious_faults
from tests.git.harness import make_repository

pytestmark = [pytest.mark.browser, pytest.mark.req("G7")]


def test_pictures_of_a_day_with_an_agent(tmp_path: Path, look: str, new_context: Callable[..., Any]):
    command = json.dumps([sys.executable, acting_agent.__file__])
    project = tmp_path / "proj"
    project.mkdir()
    make_repository(project)
    acting_agent.make_project(project)
    with DaemonProcess(tmp_path, AGENT_COMMAND=command) as daemon:
        daemon.ask("POST", "/v1/projects/proj/rename", {"new_name": "shop"})
        daemon.ask("POST", "/v1/schedules", {"userId": "sam", "when": "0 9 * * 1-5", "text": "What failed in CI?"})
        stage = Stage(daemon, new_context(look), look)
        stage.log_in()
        page = stage.page
        daemon.ask("POST", "/v1/messages?wait=0", {"userId": "sam", "message": acting_agent.FIX})
        page.wait_for_selector(".card.question .diff")
        check_and_take(stage, "console-now")
        page.click("button:has-text('Allow once')")
        stage.open("/console/session/agent%3Afairlead%3Auser%3Asam")
        page.wait_for_selector(".turn.is-success:has-text('Shall I run the tests?')")
        page.click(".work > summary")
        page.evaluate("scrollTo(0, 0)")
        check_and_take(stage, "console-session")
        stage.send(acting_agent.RUN)
        page.wait_for_selector(".card.question:has-text('pytest -q')")
        assert serious_faults(stage) == []
        page.click("button:has-text('Allow once')")
        page.wait_for_selector(".turn.is-success:has-text('1 test passed')")
        page.click("a.button:has-text('Changes') >> nth=0")
        page.wait_for_url(re.compile("/changes"))
        check_and_take(stage, "console-changes")
        stage.open("/console/why/1")
        check_and_take(stage, "console-why")
        assert stage.problems == []


def check_and_take(stage: Stage, name: str) -> None:
    assert serious_faults(stage) == []
    stage.take_picture(name)
    usual = stage.page.viewport_size
    for width in (320, usual["width"], 2000):
        stage.page.set_viewport_size({"width": width, "height": usual["height"]})
        assert overflow(stage) <= 0, f"{name} at {width}"
    stage.page.set_viewport_size(usual)
