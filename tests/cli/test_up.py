"""`fairlead up` as a real process: what it says, whom it refuses, how it ends, what it leaves for the next start."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.harness import PATIENCE, Daemon, run, state_of, surroundings

pytestmark = pytest.mark.req("A21")

TOKEN = "MTIzNDU2Nzg5.secret.of-the-bot"


def facts(home: Path) -> list[dict]:
    return [json.loads(line) for line in (state_of(home) / "events.ndjson").read_bytes().splitlines()]


@pytest.fixture
def project(tmp_path: Path) -> str:
    (tmp_path / "api").mkdir()
    return json.dumps([str(tmp_path / "api")])


def test_with_no_settings_at_all_it_says_what_is_on_and_what_is_off(tmp_path: Path):
    with Daemon(tmp_path) as daemon:
        daemon.is_up()
        said = "\n".join(daemon.said)
        assert "Fairlead is up." in said
        assert "HTTP      on   http://127.0.0.1:" in said
        assert "Discord   off  `fairlead init` turns it on" in said
        assert "PROJECTS" in said
        assert daemon.stop() == 0
        assert daemon.said[-1].startswith("Stopped.")
    state = state_of(tmp_path)
    assert state.stat().st_mode & 0o777 == 0o700
    loose = {p.name for p in state.iterdir() if p.is_file() and p.stat().st_mode & 0o077}
    assert loose == set()


def test_it_says_which_agents_are_fit_to_work_without_waiting_for_them(tmp_path: Path):
    programs, gate = tmp_path / "bin", tmp_path / "gate"
    programs.mkdir()
    os.mkfifo(gate)
    scripts = {"claude": "echo '2.1.300 (Claude Code)'", "codex": "echo codex-cli 0.1.0", "gemini": f"cat {gate}"}
    for name, script in scripts.items():  # the last one never answers
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    with Daemon(tmp_path, PATH=f"{programs}:/usr/bin:/bin") as daemon:
        daemon.is_up()
        while not all(any(f"  {name}  " in line for line in daemon.said) for name in ("claude", "codex")):
            daemon.wait_for("No login was found.")
        said = "\n".join(daemon.said)
        assert "  claude    warn claude 2.1.300; No login was found." in said
        assert "  codex     NO   codex 0.1.0; codex 0.1.0 is older than 0.150.0" in said
        assert "gemini  " not in said
        assert daemon.stop() == 0


@pytest.mark.req("A7")
def test_a_second_daemon_on_the_same_state_is_refused_and_told_whose_it_is(tmp_path: Path):
    with Daemon(tmp_path) as daemon:
        daemon.is_up()
        second = run(tmp_path, "up")
        assert second.returncode == 75
        assert f"process {daemon.process.pid}" in second.stderr
        assert str(state_of(tmp_path)) in second.stderr
        checked = run(tmp_path, "doctor")
        assert checked.returncode == 0
        assert "a Fairlead is running here" in checked.stdout
        assert daemon.stop() == 0
    with Daemon(tmp_path) as again:
        again.is_up()


@pytest.mark.req("B10")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_and_at_once_when_nothing_runs(tmp_path: Path, number: int):
    with Daemon(tmp_path, FAIRLEAD_DRAIN_SEC="600") as daemon:  # longer than anybody waits for the end
        daemon.is_up()
        assert daemon.stop(number) == 0
    assert (state_of(tmp_path) / "snapshot.json").exists()
    assert not (state_of(tmp_path) / "http-address").exists(), "nobody listens there any more"


@pytest.mark.req("B10", "A16")
def test_a_signal_gives_running_jobs_their_time_then_ends_them_and_queued_ones_stay(tmp_path: Path, project: str):
    with Daemon(tmp_path, PROJECTS=project, FAIRLEAD_DRAIN_SEC="1") as daemon:
        daemon.is_up()
        for message in ("/hang deaf", "later"):
            status, reply = daemon.call("/v1/messages", {"userId": "alice", "message": message})
            assert status == 202, reply
        assert daemon.stop() == 0
    events = facts(tmp_path)
    assert [e["payload"]["error_code"] for e in events if e["type"] == "JobFailed"] == ["E_SHUTDOWN"]
    started = [e["payload"]["job_id"] for e in events if e["type"] == "JobStarted"]
    assert len(started) == 1
    with Daemon(tmp_path, PROJECTS=project) as daemon:
        daemon.is_up()
        verdict = run(tmp_path, "journal", "verify")
        assert verdict.returncode == 0, verdict.stdout


@pytest.mark.req("B10")
@pytest.mark.parametrize("stuck", ["/hang deaf", "/ask ls"])
def test_a_second_signal_waits_for_running_jobs_no_longer(tmp_path: Path, project: str, stuck: str):
    with Daemon(tmp_path, PROJECTS=project, FAIRLEAD_DRAIN_SEC="600") as daemon:
        daemon.is_up()
        _, reply = daemon.call("/v1/messages", {"userId": "alice", "message": stuck})
        while daemon.call(f"/v1/jobs/{reply['job_id']}")[1]["state"] not in {"running", "waiting"}:
            pass
        daemon.process.send_signal(signal.SIGINT)
        assert "1 running job(s) have 600 s" in daemon.wait_for("Stopping")
        assert daemon.stop(signal.SIGINT) == 0
    assert [e["payload"]["error_code"] for e in facts(tmp_path) if e["type"] == "JobFailed"] == ["E_SHUTDOWN"]


@pytest.mark.req("A8")
def test_after_kill_nine_the_next_start_says_what_was_interrupted(tmp_path: Path, project: str):
    with Daemon(tmp_path, PROJECTS=project) as daemon:
        daemon.is_up()
        status, reply = daemon.call("/v1/messages", {"userId": "alice", "message": "/hang"})
        assert status == 202, reply
        while daemon.call(f"/v1/jobs/{reply['job_id']}")[1]["state"] != "running":
            pass
        daemon.process.kill()
        daemon.process.wait(60)
    with Daemon(tmp_path, PROJECTS=project) as daemon:
        line = daemon.wait_for("Interrupted by the last shutdown or crash")
        assert "job_" in line
        assert "retry" in line


@pytest.mark.req("B14", "A19")
def test_secrets_are_in_no_file_and_in_no_word(tmp_path: Path, project: str):
    api_key = "sk-not-for-any-log"
    nowhere = {"DISCORD_API_BASE": "http://127.0.0.1:9", "DISCORD_GATEWAY_URL": "ws://127.0.0.1:9"}
    secret = {"DISCORD_TOKEN": TOKEN, "ANTHROPIC_API_KEY": api_key}
    settings = {**secret, "DISCORD_OWNER_ID": "42", "PROJECTS": project, **nowhere}
    with Daemon(tmp_path, **settings) as daemon:
        daemon.is_up()
        http_token = (state_of(tmp_path) / "http-token").read_text().strip()
        daemon.call(f"/v1/{TOKEN}")
        daemon.call(f"/v1/{http_token}")
        daemon.call(f"/v1/{api_key}")
        daemon.stop()
        said = "\n".join(daemon.said)
    files = [p for p in tmp_path.rglob("*") if p.is_file() and p.name != "http-token"]
    assert files
    for secret in (TOKEN, http_token, api_key):
        assert secret not in said
        assert [p for p in files if secret.encode() in p.read_bytes()] == []


@pytest.mark.req("A19")
def test_the_log_has_one_line_per_turn(tmp_path: Path, project: str):
    with Daemon(tmp_path, PROJECTS=project) as daemon:
        daemon.is_up()
        for number in range(3):
            done = run(tmp_path, "chat", stdin=f"hello {number}", PROJECTS=project)
            assert done.returncode == 0, done.stderr
            assert f"hello {number}" in done.stdout
        daemon.stop()
    log = tmp_path / ".local/state/fairlead/logs/app.ndjson"
    turns = [line for line in map(json.loads, log.read_text().splitlines()) if line["event"] == "turn ended"]
    assert [t["outcome"] for t in turns] == ["success"] * 3
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.req("A15")
def test_the_journal_can_be_looked_into_while_a_daemon_runs_and_after(tmp_path: Path, project: str):
    with Daemon(tmp_path, PROJECTS=project) as daemon:
        daemon.is_up()
        assert run(tmp_path, "chat", stdin="hello\n/long 300000", PROJECTS=project).returncode == 0
        verified = run(tmp_path, "journal", "verify")
        assert verified.returncode == 0, verified.stdout
        assert "numbered without a gap" in verified.stdout
        assert "The totals match: 1 received = 1 answered" in verified.stdout
        daemon.stop()
    journal = state_of(tmp_path) / "events.ndjson"
    tail = run(tmp_path, "journal", "tail", "-n", "3")
    assert len(tail.stdout.splitlines()) == 3
    assert run(tmp_path, "journal", "tail", "-n", "0").returncode == 2
    shown = run(
        tmp_path, "journal", "show", next(e["payload"]["job_id"] for e in facts(tmp_path) if e["type"] == "JobStarted")
    )
    assert shown.returncode == 0
    assert len(shown.stdout) > 300_000, "the whole answer, also a long one"
    unknown = run(tmp_path, "journal", "show", "job_0")
    assert unknown.returncode == 1
    assert "no entry about 'job_0'" in unknown.stderr
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"seq":99,"ts')
    torn = run(tmp_path, "journal", "tail", "--raw")
    assert torn.returncode == 0
    assert torn.stdout.encode() == b"".join(whole.splitlines(keepends=True)[-20:])
    verified = run(tmp_path, "journal", "verify")
    assert verified.returncode == 0
    assert "13 bytes are not finished" in verified.stdout
    spoilt = bytearray(whole)
    spoilt[len(whole) // 2] ^= 1
    journal.write_bytes(bytes(spoilt))
    broken = run(tmp_path, "journal", "verify")
    assert broken.returncode == 1
    assert str(journal) in broken.stdout
    assert "line " in broken.stdout


@pytest.mark.req("A15")
def test_a_torn_last_line_is_cut_kept_and_told(tmp_path: Path):
    with Daemon(tmp_path) as daemon:
        daemon.is_up()
        daemon.stop()
    journal = state_of(tmp_path) / "events.ndjson"
    with journal.open("ab") as file:
        file.write(b'{"seq":7,"ts":"2026')
    with Daemon(tmp_path) as daemon:
        daemon.wait_for("were not completely written")
        daemon.stop()
    assert list(state_of(tmp_path).glob("events.ndjson.torn-at-*"))


@pytest.mark.req("A7")
def test_two_states_that_want_one_port_say_so(tmp_path: Path):
    with Daemon(tmp_path) as daemon:
        daemon.is_up()
        port = (state_of(tmp_path) / "http-address").read_text().strip().rpartition(":")[2]
        (tmp_path / "other").mkdir()
        done = run(tmp_path / "other", "up", FAIRLEAD_HTTP_PORT=port)
        assert done.returncode == 78
        assert "FAIRLEAD_HTTP_PORT" in done.stderr
        assert "Traceback" not in done.stderr


POWERLESS = () if os.geteuid() else ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
"""Root without its powers is a user like any other: it may look into its own processes, and into no hidden one."""


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("setpriv"), reason="only Linux hides a process")
@pytest.mark.req("B14")
def test_a_process_of_the_same_user_finds_neither_its_environment_nor_its_open_files(tmp_path: Path):
    def looks_into(pid: int) -> list[bool]:
        looks = (("cat", f"/proc/{pid}/environ"), ("readlink", f"/proc/{pid}/fd/0"))
        return [subprocess.run([*POWERLESS, *look], capture_output=True, check=False).returncode == 0 for look in looks]

    with (
        Daemon(tmp_path, starter=POWERLESS, OPENAI_API_KEY="sk-key") as daemon,
        subprocess.Popen([*POWERLESS, "sleep", "600"]) as other,
    ):
        daemon.is_up()
        try:
            assert looks_into(daemon.process.pid) == [False, False]
            assert looks_into(other.pid) == [True, True], "the look itself works"
        finally:
            other.kill()
        assert daemon.stop() == 0


# --- a disk without room, real but small, in a mount namespace of its own


CAN_MOUNT = (
    shutil.which("unshare") is not None
    and (
        subprocess.run(["unshare", "-Urm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
    ).returncode
    == 0
)
needs_mount = pytest.mark.skipif(not CAN_MOUNT, reason="the kernel lets nobody mount a disk of their own")

ON_A_FULL_DISK = """
mount -t tmpfs -o size=64k tmpfs "$STATE_DIR" && chmod 700 "$STATE_DIR" || exit 1
head -c "$BALLAST" /dev/zero >"$STATE_DIR/ballast"
"$PYTHON" -m fairlead up --no-chat 2>&1 &
echo "pid $!"
read -r make_room && rm "$STATE_DIR/ballast"
wait $!
echo "ended with $?"
"""
PAGE = 4096
NO_ROOM = ("waits for space", "not enough disk space", "No space left")


@contextmanager
def up_on_a_full_disk(home: Path, *, pages_left: int) -> Iterator[subprocess.Popen[str]]:
    state = home / "state"
    state.mkdir()
    more = {
        "STATE_DIR": str(state),
        "LOG_DIR": str(home / "logs"),
        "PYTHON": sys.executable,
        "BALLAST": str(64 * 1024 - pages_left * PAGE),
    }
    command = ["unshare", "-Urm", "sh", "-c", ON_A_FULL_DISK]
    with subprocess.Popen(
        command, env=surroundings(home, **more), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as shell:
        assert shell.stdout is not None
        daemon = int(shell.stdout.readline().removeprefix("pid "))
        try:
            yield shell
            os.kill(daemon, signal.SIGTERM)
            said, _ = shell.communicate(timeout=PATIENCE)
            assert said.endswith("ended with 0\n")
        finally:
            if shell.poll() is None:
                os.kill(daemon, signal.SIGKILL)


def read_until(shell: subprocess.Popen[str], *words: str) -> str:
    assert shell.stdout is not None
    said = ""
    for line in shell.stdout:
        said += line
        if any(word in line for word in words):
            return said
    raise AssertionError(f"it ended without saying {words}: {said}")


@needs_mount
@pytest.mark.req("A16")
@pytest.mark.parametrize("pages_left", [0, 2, 4])
def test_a_start_without_room_is_no_traceback_and_goes_on_once_there_is_room(tmp_path: Path, pages_left: int):
    with up_on_a_full_disk(tmp_path, pages_left=pages_left) as shell:
        said = read_until(shell, *NO_ROOM)
        assert shell.stdin is not None
        shell.stdin.write("\n")
        shell.stdin.flush()
        if "Fairlead is up" not in said:
            said += read_until(shell, "Fairlead is up")
    assert "Traceback" not in said


@needs_mount
@pytest.mark.req("B10")
def test_told_to_stop_while_a_start_waits_for_room_it_ends(tmp_path: Path):
    with up_on_a_full_disk(tmp_path, pages_left=2) as shell:
        assert "Fairlead is up" not in read_until(shell, "waits for space")
