"""The guide's examples, run as they stand, against a real Fairlead in a home of its own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guide.md").read_text()
BIN = Path(sys.executable).parent
SCRIPTS = dict(re.findall(r"(?s)<!-- run: (\w+) -->\n```sh\n(.*?)```", GUIDE))
DEFAULT_ADDRESS = "http://127.0.0.1:8466"


class Home:
    """A home directory with one Fairlead that is up; `address` is where it listens."""

    def __init__(self, path: Path, address: str) -> None:
        self.path = path
        self.address = address

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-euc", script.replace(DEFAULT_ADDRESS, self.address)],
            env=environment(self.path),
            cwd=self.path / "shop",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": f"{BIN}:{os.defpath}", "LANG": "C.UTF-8"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    path = tmp_path_factory.mktemp("home")
    (path / "shop").mkdir()
    daemon = subprocess.Popen(
        [BIN / "fairlead", "up"],
        env=environment(path)
        | {"FAIRLEAD_HTTP_PORT": "0", "PROJECTS": f'["{path / "shop"}"]', "PYTHONUNBUFFERED": "1"},
        cwd=path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert daemon.stdout is not None
        address = next(m[0] for line in daemon.stdout if (m := re.search(r"http://[\d.:]+\d", line)))
        yield Home(path, address)
    finally:
        daemon.terminate()
        daemon.communicate(timeout=60)


needs_curl = pytest.mark.skipif(which("curl", path=os.defpath) is None, reason="the guide's examples use curl")


@needs_curl
@pytest.mark.req("C5")
def test_a_message_by_curl_is_answered(home: Home):
    answered = home.run(SCRIPTS["message"])
    assert json.loads(answered.stdout)["answer"] == "echo agent:fairlead:user:alice: hello"


@needs_curl
@pytest.mark.req("C5")
def test_the_same_key_twice_is_one_job(home: Home):
    told = [home.run(SCRIPTS["stream"]).stdout for _ in range(2)]
    ends = [json.loads(re.findall(r"event: done\ndata: (.*)", stream)[-1])["job"] for stream in told]
    assert ends[0] == ends[1]
    assert "hello again" in ends[0]["answer"]


@needs_curl
def test_open_questions_are_listed(home: Home):
    assert json.loads(home.run(SCRIPTS["questions"]).stdout) == {"questions": []}


@needs_curl
@pytest.mark.req("C5")
def test_a_permission_is_answered_by_curl(home: Home):
    asking = SCRIPTS["message"].replace("/v1/messages", "/v1/messages?wait=0").replace("hello", "/ask rm -rf build")
    job_id = json.loads(home.run(asking).stdout)["job_id"]
    until_asked = f'curl -sSN {DEFAULT_ADDRESS}/v1/jobs/{job_id}/events -H "Authorization: Bearer $TOKEN"'
    token = "TOKEN=$(cat ~/.local/state/fairlead/state/http-token)\n"
    home.run(f"{token}{until_asked} | grep -m 1 'event: question'")
    assert json.loads(home.run(SCRIPTS["permission"]).stdout) == {"job_id": job_id}
    told = home.run(f"{token}{until_asked}").stdout
    assert "Not in this directory." in json.loads(re.findall(r"event: done\ndata: (.*)", told)[-1])["job"]["answer"]


@needs_curl
@pytest.mark.skipif(which("openssl", path=os.defpath) is None, reason="the guide's examples use openssl")
@pytest.mark.parametrize("script", ["webhook", "signed"])
def test_a_signed_event_by_curl_is_one_job(home: Home, script: str):
    sent = home.run(SCRIPTS[script])
    job_id = json.loads(sent.stdout)["job_id"]
    told = home.run(
        "TOKEN=$(cat ~/.local/state/fairlead/state/http-token)\n"
        f'curl -sSN {DEFAULT_ADDRESS}/v1/jobs/{job_id}/events -H "Authorization: Bearer $TOKEN"'
    ).stdout
    answer = json.loads(re.findall(r"event: done\ndata: (.*)", told)[-1])["job"]["answer"]
    assert ("> It breaks" if script == "webhook" else "> web-1") in answer


@pytest.mark.req("C6")
def test_piped_input_is_one_message(home: Home):
    answered = home.run("echo hi | fairlead chat")
    assert answered.stdout.startswith("echo agent:fairlead:user:local: hi\n")
    assert answered.returncode == 0


def test_the_commands_for_when_something_is_wrong_find_nothing_wrong(home: Home):
    section = GUIDE.partition("## When something is wrong")[2]
    commands = re.findall(r"(?m)^(fairlead [a-z ]+?)  ", section)
    assert commands == ["fairlead doctor", "fairlead journal verify", "fairlead journal tail"]
    looks = [home.run(command) for command in commands]
    assert [(look.returncode, look.stderr) for look in looks] == [(0, "")] * 3


def test_what_the_guide_shows_of_a_start_is_what_a_start_prints(home: Home):
    """Line for line, but for the address, the token's place and the project that this home has."""
    shown = [line.split()[0] for line in re.findall(r"(?m)^  (\w+ +(?:on|off|0) .*)$", GUIDE)]
    told = home.run(
        "STATE_DIR=$HOME/other LOG_DIR=$HOME/logs FAIRLEAD_HTTP_PORT=0 fairlead up </dev/null >$HOME/said & "
        'pid=$!; until grep -q "^  projects" $HOME/said || ! kill -0 $pid; do sleep 0.1; done; '
        "kill -TERM $pid; wait $pid; cat $HOME/said"
    )
    printed = [line.split()[0] for line in told.stdout.splitlines() if re.match(r"  \w+ +(on|off|0) ", line)]
    assert printed == shown
    assert told.stdout.endswith("Stopped. All accepted messages are saved.\n")
