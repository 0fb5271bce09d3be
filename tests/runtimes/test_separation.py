"""A hostile agent, let loose in a sandbox, under another user, and under both."""

import asyncio
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from fairlead.errors import Code, FairleadError
from fairlead.runtimes.separation import check_separation, login_paths, make_confinements
from tests.channels.harness import DaemonHarness, run_daemon_in, settings_in
from tests.support import accounts, hostile_agent

pytestmark = [pytest.mark.anyio, pytest.mark.req("B14")]

OWNER, AGENTS_USER = accounts.name_user("owner"), accounts.name_user("agent")


def has_working_bwrap() -> bool:
    program = shutil.which("bwrap")
    probe = [program or "", "--ro-bind", "/", "/", "--unshare-pid", "true"]
    return program is not None and subprocess.run(probe, capture_output=True, check=False).returncode == 0


needs_bwrap = pytest.mark.skipif(not has_working_bwrap(), reason="bwrap is not installed, or the kernel forbids it")
needs_root = pytest.mark.skipif(not accounts.can_make_users(), reason="only root can make a user and become it")
needs_sudo = pytest.mark.skipif(
    not accounts.can_make_sudo_rules(), reason="only root can make users, and sudo must be there"
)


@pytest.fixture
def agents_user() -> Iterator[str]:
    with accounts.make_user(AGENTS_USER) as name:
        yield name


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that every user may pass through (pytest's own is closed, and closed again by every pytest that
    starts), with the hostile agent in it, and system programs alone on PATH."""
    with tempfile.TemporaryDirectory(prefix="separation-", dir="/tmp") as made:
        here = Path(made)
        here.chmod(0o755)
        for name in ("codex", "hostile_agent.py"):
            shutil.copy(hostile_agent.__file__, here / name)
            (here / name).chmod(0o755)
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-its-own-key")
        monkeypatch.setenv("DISCORD_SECRET", "the-bots-secret")
        (here / "proj").mkdir()
        (here / "proj").chmod(0o777)
        yield here


async def let_loose(daemon: DaemonHarness, place: Path) -> dict[str, Any]:
    state = place / "state"
    waiting = await daemon.begin("alice", "/ask rm -rf build", tool="echo")
    question = (await daemon.until(waiting, "question")).data["question_id"]
    for inbox in ("mine", "others"):
        (state / "inbox" / inbox).mkdir(parents=True, exist_ok=True, mode=0o700)
    (state / "inbox" / "others" / "letter").write_text("for somebody else")
    (state / "workspaces" / "proj").mkdir(parents=True, exist_ok=True)
    deeds = {
        "token": ("read", str(state / "http-token")),
        "journal": ("read", str(state / "events.ndjson")),
        "permissions": ("write", str(state / "workspaces/proj/PERMISSIONS.json"), '{"tier": "full"}'),
        "others_inbox": ("read", str(state / "inbox/others/letter")),
        "inboxes": ("look", str(state / "inbox")),
        "logs": ("read", str(place / "logs/app.ndjson")),
        "daemons_environment": ("read", f"/proc/{os.getpid()}/environ"),
        "daemons_files": ("look", f"/proc/{os.getpid()}/fd"),
        "answer": ("ask", daemon.url, daemon.token, f"/v1/questions/{question}", {"verdict": "allow"}),
        "project": ("write", str(place / "proj/made-by-the-agent"), "work"),
        "environment": ("environment",),
        "user": ("who",),
        "pids": ("pids",),
    }
    status, job = await daemon.say("mallory", json.dumps(deeds), tool="codex")
    assert status == 200, job
    return json.loads(job["answer"].partition("\n\n⚠")[0])


def assert_separated(found: dict[str, Any], place: Path) -> None:
    refused = {"FileNotFoundError", "PermissionError", "OSError", "NotADirectoryError"}
    for deed in ("token", "journal", "permissions", "others_inbox", "logs"):
        assert found[deed] in refused, (deed, found[deed])
    # In a sandbox the number of our process is that of one of its own, or of nobody.
    assert found["daemons_environment"] in refused or "FAIRLEAD_RUN=" in found["daemons_environment"]
    assert found["answer"] in {"403 E_AGENT_CALLER", "401 E_UNAUTHORIZED"}
    assert found["project"] == "ok"
    assert (place / "proj/made-by-the-agent").read_text() == "work"
    assert not (place / "state/workspaces/proj/PERMISSIONS.json").exists()
    assert found["environment"]["OPENAI_API_KEY"] == "sk-its-own-key"
    assert not [name for name in found["environment"] if name.startswith(("DISCORD_", "FAIRLEAD_HTTP"))]


async def test_without_separation_the_files_are_open_and_the_documents_say_so(place: Path):
    async with run_daemon_in(place, CODEX_COMMAND=str(place / "codex")) as daemon:
        found = await let_loose(daemon, place)
    assert found["token"].strip() == daemon.token
    assert "FAIRLEAD_RUN=" not in found["daemons_environment"]  # of the test's process, which is not hidden
    assert found["answer"] == "403 E_AGENT_CALLER"


@needs_bwrap
async def test_a_hostile_agent_in_the_sandbox_reaches_its_project_and_nothing_of_fairleads(place: Path):
    more = {"FAIRLEAD_AGENT_SANDBOX": "bwrap", "CODEX_COMMAND": str(place / "codex")}
    async with run_daemon_in(place, **more) as daemon:
        found = await let_loose(daemon, place)
        assert (await daemon.get("/v1/sessions"))[0] == 200
    assert_separated(found, place)
    assert len(found["pids"]) < 6  # its own processes alone
    assert found["inboxes"] == [name for name in os.listdir(place / "state/inbox") if "mallory" in name]  # noqa: PTH208


@needs_root
async def test_a_hostile_agent_under_another_user_reaches_nothing_of_fairleads(place: Path, agents_user: str):
    more = {"FAIRLEAD_AGENT_USER": agents_user, "CODEX_COMMAND": str(place / "codex")}
    async with run_daemon_in(place, **more) as daemon:
        found = await let_loose(daemon, place)
    assert_separated(found, place)
    assert (found["daemons_environment"], found["daemons_files"]) == ("PermissionError", "PermissionError")
    assert found["user"] == str(pwd.getpwnam(agents_user).pw_uid)
    assert found["environment"]["HOME"] == pwd.getpwnam(agents_user).pw_dir


@needs_root
@needs_bwrap
async def test_both_together_hold_too(place: Path, agents_user: str):
    more = {"FAIRLEAD_AGENT_SANDBOX": "bwrap", "FAIRLEAD_AGENT_USER": agents_user}
    async with run_daemon_in(place, CODEX_COMMAND=str(place / "codex"), **more) as daemon:
        found = await let_loose(daemon, place)
    assert_separated(found, place)


@needs_root
@needs_bwrap
@pytest.mark.parametrize("how", ["user", "bwrap"])
async def test_a_separated_agent_ends_when_it_is_told_to(place: Path, agents_user: str, how: str):
    more = {"FAIRLEAD_AGENT_USER": agents_user} if how == "user" else {"FAIRLEAD_AGENT_SANDBOX": "bwrap"}
    os.mkfifo(place / "proj" / "never")
    (place / "proj" / "never").chmod(0o666)
    async with run_daemon_in(place, CODEX_COMMAND=str(place / "codex"), **more) as daemon:
        stuck = await daemon.begin("mallory", json.dumps({"it": ("read", str(place / "proj/never"))}), tool="codex")
        await wait_for_agent(daemon, place, stuck)
        status, _ = await daemon.post("/v1/cancel", {"userId": "mallory"})
        assert status == 200
        await daemon.until(stuck, "done")
        assert _find_living(place / "codex") == []


class OwnersDaemon(DaemonHarness):
    """`fairlead up`, started by a user who is not root."""

    def __init__(self, place: Path, python: str, http: aiohttp.ClientSession) -> None:
        self.http = http
        self.token = ""
        self.url = ""
        self._place = place
        self._python = python
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        env = accounts.environment_of(OWNER) | {
            "STATE_DIR": str(self._place / "state"),
            "LOG_DIR": str(self._place / "logs"),
            "PROJECTS": json.dumps([str(self._place / "proj")]),
            "FAIRLEAD_HTTP_PORT": "0",
            "FAIRLEAD_DRAIN_SEC": "0",
            "FAIRLEAD_AGENT_USER": AGENTS_USER,
            "CODEX_COMMAND": str(self._place / "codex"),
            "OPENAI_API_KEY": "sk-its-own-key",
            "DISCORD_SECRET": "the-bots-secret",
        }
        self._process = await asyncio.create_subprocess_exec(
            *(self._python, "-m", "fairlead", "up", "--no-chat"),
            env=env,
            stdout=asyncio.subprocess.PIPE,
            **accounts.as_user(OWNER),
        )
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            words = line.decode().split()
            if words[:2] == ["HTTP", "on"]:
                self.url = words[2]
                break
        self.token = (self._place / "state/http-token").read_text().strip()
        self.http.headers["Authorization"] = f"Bearer {self.token}"

    async def end(self, how: signal.Signals) -> int:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(how)
        return await self._process.wait()


@pytest.fixture
async def owners_daemon(place: Path, agents_user: str) -> AsyncIterator[OwnersDaemon]:
    with accounts.make_user(OWNER), accounts.make_sudo_rule(OWNER, agents_user, place / "sudo.log"):
        python = accounts.find_python_for(OWNER)
        if python is None:
            pytest.skip("no Python here that another user could run")
        owners = pwd.getpwnam(OWNER)
        for name in ("state", "logs"):
            (place / name).mkdir(mode=0o700)
            os.chown(place / name, owners.pw_uid, owners.pw_gid)
        async with aiohttp.ClientSession(headers={}) as http, asyncio.timeout(60):
            daemon = OwnersDaemon(place, python, http)
            await daemon.start()
            try:
                yield daemon
            finally:
                await daemon.end(signal.SIGTERM)


@needs_sudo
async def test_a_hostile_agent_behind_sudo_reaches_nothing_of_a_fairlead_that_is_not_root(
    place: Path, owners_daemon: OwnersDaemon
):
    found = await let_loose(owners_daemon, place)
    assert_separated(found, place)
    assert found["user"] == str(pwd.getpwnam(AGENTS_USER).pw_uid)
    assert found["environment"]["HOME"] == pwd.getpwnam(AGENTS_USER).pw_dir
    assert found["answer"] == "403 E_AGENT_CALLER"  # though the test gave it the token
    assert not [name for name in found["environment"] if name.startswith("SUDO_")]
    assert "sk-its-own-key" not in (place / "sudo.log").read_text()
    _, sent = await owners_daemon.say(
        "mallory", json.dumps({"it": ("read", str(place / "state/http-token"))}), tool="codex"
    )
    assert json.loads(sent["answer"]) == {"it": "PermissionError"}


@needs_sudo
async def test_an_agent_behind_sudo_is_refused_with_its_job_ended_on_demand_and_swept_after_a_kill(
    place: Path, owners_daemon: OwnersDaemon
):
    daemon = owners_daemon
    os.mkfifo(place / "proj" / "never")
    (place / "proj" / "never").chmod(0o666)
    deeds = {
        "asked": ("ask", daemon.url, daemon.token, "/v1/sessions"),
        "as_nobody": ("ask_without_mark", daemon.url, daemon.token, "/v1/sessions"),
    }
    _, job = await daemon.say("mallory", json.dumps(deeds), tool="codex")
    assert set(json.loads(job["answer"].partition("\n\n⚠")[0]).values()) == {"403 E_AGENT_CALLER"}
    assert "(2 time(s))" in job["answer"]  # both are reported with their job
    stuck = await daemon.begin("mallory", json.dumps({"it": ("read", str(place / "proj/never"))}), tool="codex")
    await wait_for_agent(daemon, place, stuck)
    assert (await daemon.post("/v1/cancel", {"userId": "mallory"}))[0] == 200
    await daemon.until(stuck, "done")
    assert _find_living(place / "codex") == []
    stuck = await daemon.begin("mallory", json.dumps({"it": ("read", str(place / "proj/never"))}), tool="codex")
    await wait_for_agent(daemon, place, stuck)
    await daemon.end(signal.SIGKILL)
    assert _find_living(place / "codex") != []
    await daemon.start()
    assert _find_living(place / "codex") == []
    _, job = await daemon.get(f"/v1/jobs/{stuck}")
    assert job["state"] == "unknown_after_crash"


@needs_sudo
def test_without_a_rule_doctor_names_the_line_that_sudo_needs(place: Path, agents_user: str):
    with accounts.make_user(OWNER):
        python = accounts.find_python_for(OWNER)
        if python is None:
            pytest.skip("no Python here that another user could run")
        more = {"STATE_DIR": str(place / "s"), "LOG_DIR": str(place / "l"), "FAIRLEAD_AGENT_USER": agents_user}
        place.chmod(0o777)
        done = subprocess.run(
            [python, "-m", "fairlead", "doctor"],
            env=accounts.environment_of(OWNER) | more,
            capture_output=True,
            text=True,
            check=False,
            **accounts.as_user(OWNER),
        )
    assert done.returncode == 1
    line = next(line for line in done.stdout.splitlines() if line.startswith("separation"))
    assert line.startswith(f"separation FAIL FAIRLEAD_AGENT_USER: sudo does not start programs as {agents_user}: sudo:")
    assert line.endswith(f"add this line: {OWNER} ALL=({agents_user}) NOPASSWD: ALL")


async def wait_for_agent(daemon: DaemonHarness, place: Path, job_id: str) -> None:
    while not _find_living(place / "codex"):
        _, job = await daemon.get(f"/v1/jobs/{job_id}")
        assert job["state"] in {"queued", "running"}, job


def _find_living(program: Path) -> list[str]:
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdecimal() else b""
        except OSError:
            continue
        if str(program).encode() in line and entry.name != str(os.getpid()):
            found.append(entry.name)
    return found


@needs_bwrap
def test_doctor_says_what_is_on_and_whether_it_works(tmp_path: Path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "lock").touch()
    assert check_separation(settings_in(tmp_path)) == ("none", "")
    assert check_separation(settings_in(tmp_path, FAIRLEAD_AGENT_SANDBOX="bwrap")) == ("sandbox bwrap", "")
    what, problem = check_separation(settings_in(tmp_path, FAIRLEAD_AGENT_USER="nobody-of-that-name"))
    assert what == "user nobody-of-that-name"
    assert "there is no user" in problem


@needs_root
def test_doctor_says_that_agents_of_another_user_cannot_enter_a_project(place: Path, agents_user: str):
    settings = settings_in(place, FAIRLEAD_AGENT_USER=agents_user)
    (place / "state").mkdir(mode=0o700)
    assert check_separation(settings) == (f"user {agents_user}", "")
    (place / "proj").chmod(0o700)
    assert check_separation(settings)[1].startswith(f"Agents cannot enter the project {place / 'proj'}:")


@needs_bwrap
async def test_the_settings_file_is_hidden_wherever_it_lies(place: Path, monkeypatch: pytest.MonkeyPatch):
    settings_file = place / "proj" / "fairlead.env"
    settings_file.write_text("DISCORD_TOKEN_OF_ANOTHER=very-secret\n")
    monkeypatch.setenv("FAIRLEAD_ENV_FILE", str(settings_file))
    more = {"FAIRLEAD_AGENT_SANDBOX": "bwrap", "CODEX_COMMAND": str(place / "codex")}
    async with run_daemon_in(place, **more) as daemon:
        _, job = await daemon.say("mallory", json.dumps({"it": ("read", str(settings_file))}), tool="codex")
    assert json.loads(job["answer"])["it"] in {"ok", "PermissionError"}  # it is empty, or cannot be opened


def test_a_separation_that_cannot_be_had_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FairleadError, match="bwrap is not installed") as caught:
        make_confinements(settings_in(tmp_path, FAIRLEAD_AGENT_SANDBOX="bwrap"))
    assert caught.value.code == Code.E_CONFIG


def test_an_agent_sees_its_own_login_and_no_others():
    home = Path("/home/me")
    assert login_paths(("/usr/bin/codex", "exec"), home) == [home / ".codex"]
    assert login_paths(("npx", "-y", "@zed-industries/claude-code-acp"), home) == [
        home / ".claude",
        home / ".claude.json",
    ]
    assert login_paths(("/bin/sh",), home) == []
