"""What the tests in the browser share: a daemon as a process, and a person with a browser."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.browser.find_chromium import find_chromium

SIZES = {"phone": {"width": 390, "height": 844}, "desk": {"width": 1280, "height": 800}}
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP fairlead.test 127.0.0.1",  # a name in a private network
)
START_SEC = 60.0
ROOT = Path(__file__).parents[2]


def start_chromium(driver: Any) -> Any:
    return driver.chromium.launch(executable_path=find_chromium(), headless=True, args=list(FLAGS))


def wait_until(page: Any, expression: str) -> None:
    """Asked from outside: the page's own policy lets no test evaluate a text inside."""
    deadline = time.monotonic() + 15
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, f"never true: {expression}"
        page.wait_for_timeout(50)


class DaemonProcess:
    """`fairlead up`, at the same port across restarts: a page that is open finds it again."""

    def __init__(self, directory: Path, **more: str) -> None:
        self.directory = directory
        self.state = directory / "state"
        self._port = 0
        project = directory / "proj"
        project.mkdir(exist_ok=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "STATE_DIR": str(self.state),
            "LOG_DIR": str(directory / "logs"),
            "PROJECTS": json.dumps([str(project)]),
            "FAIRLEAD_ENV_FILE": str(directory / "none.env"),
            "FAIRLEAD_DRAIN_SEC": "0",
            **more,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        (self.directory / "none.env").touch()
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(signal.SIGTERM)

    def start(self) -> None:
        environment = {**self.environment, "FAIRLEAD_HTTP_PORT": str(self._port)}
        command = [sys.executable, "-c", "from fairlead.cli.main import main; main()", "up", "--no-chat"]
        self._process = subprocess.Popen(
            command, env=environment, cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._wait_until_up()
        self._port = int(self.url.rpartition(":")[2])

    def stop(self, number: signal.Signals = signal.SIGKILL) -> None:
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)
        self._process.wait(START_SEC)

    def _wait_until_up(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_SEC
        while time.monotonic() < deadline:
            assert self._process.poll() is None, "the daemon ended at its start"
            with contextlib.suppress(OSError, ValueError):
                if self.ask("GET", "/v1/health")["status"] == "ok":
                    return
            time.sleep(0.1)
        raise AssertionError("the daemon did not come up")

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        return (self.state / "http-address").read_text().strip()

    def ask(self, method: str, path: str, body: object = None) -> Any:
        token = (self.state / "http-token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.loads(response.read())

    def say(self, user: str, message: str, *, wait: int = 1) -> Any:
        return self.ask("POST", f"/v1/messages?wait={wait}", {"userId": user, "message": message})

    def allow_all(self, job_id: str) -> None:
        """Says yes to whatever this job asks, until it is over."""
        deadline = time.monotonic() + START_SEC
        while self.ask("GET", f"/v1/jobs/{job_id}")["state"] in {"queued", "running", "waiting"}:
            assert time.monotonic() < deadline, "the job does not end"
            for question in self.ask("GET", "/v1/questions")["questions"]:
                self.ask("POST", f"/v1/questions/{question['question_id']}", {"verdict": "allow"})
            time.sleep(0.05)


class Stage:
    """A person with a browser. `problems` is whatever the browser's console complained of."""

    def __init__(self, daemon: DaemonProcess, context: Any, look: str, url: str = "") -> None:
        self.daemon = daemon
        self.context = context
        self.look = look
        self.url = url or daemon.url
        self.problems: list[str] = []
        self.page = self.new_page()

    def new_page(self) -> Any:
        page = self.context.new_page()
        page.on("pageerror", lambda fault: self.problems.append(str(fault)))
        page.on("console", self._note)
        return page

    def _note(self, message: Any) -> None:
        is_expected = "ERR_CONNECTION" in message.text or "ERR_INCOMPLETE" in message.text or "net::" in message.text
        refused = "status of 4" in message.text  # a refusal that the test asked for
        if message.type == "error" and not is_expected and not refused:
            self.problems.append(message.text)

    def log_in(self, person: str = "") -> None:
        link = self.daemon.ask("POST", "/v1/console/links", {"person": person} if person else {})
        self.page.goto(self.url + link["path"])
        self.page.wait_for_selector("#summary")

    def open(self, path: str) -> None:
        self.page.goto(self.url + path)

    def send(self, text: str) -> None:
        self.page.fill("#message", text)
        self.page.press("#message", "Control+Enter")

    def take_picture(self, name: str) -> None:
        directory = os.environ.get("FAIRLEAD_SCREENSHOTS")
        if directory:
            Path(directory).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(Path(directory) / f"{name}-{self.look}.png"))
