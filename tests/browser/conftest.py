"""A daemon as a process for each test, and a browser context: the phone and the desk, light and dark."""

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.stage import SIZES, DaemonProcess, Stage, start_chromium

playwright = pytest.importorskip("playwright.sync_api", reason="requirements/console.lock is not installed")


@pytest.fixture(scope="session")
def chromium() -> Generator[Any]:
    with playwright.sync_playwright() as driver:
        browser = start_chromium(driver)
        yield browser
        browser.close()


@pytest.fixture
def daemon(tmp_path: Path) -> Generator[DaemonProcess]:
    with DaemonProcess(tmp_path) as running:
        yield running


@pytest.fixture(params=["phone-light", "phone-dark", "desk-light", "desk-dark"])
def look(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def new_context(chromium: Any) -> Generator[Callable[..., Any]]:
    """Another browser, of another person or of the same one elsewhere."""
    made: list[Any] = []

    def make(look: str = "desk-light", **more: Any) -> Any:
        size, scheme = look.split("-")
        context = chromium.new_context(viewport=SIZES[size], color_scheme=scheme, locale="en-GB", **more)
        context.set_default_timeout(15_000)
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()


@pytest.fixture
def stage(chromium: Any, daemon: DaemonProcess, look: str) -> Generator[Stage]:
    """Logged in, on the page *Now*."""
    size, scheme = look.split("-")
    context = chromium.new_context(viewport=SIZES[size], color_scheme=scheme, locale="en-GB")
    context.set_default_timeout(15_000)
    stage = Stage(daemon, context, look)
    stage.log_in()
    yield stage
    problems = stage.problems
    context.close()
    assert problems == [], "the browser complained"
