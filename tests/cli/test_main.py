"""The command line: quick to help, plain about what is wrong, and every exit code means something."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead import __version__
from tests.cli.harness import run, state_of, surroundings

pytestmark = pytest.mark.req("A21")


def test_the_version(tmp_path: Path):
    done = run(tmp_path, "--version")
    assert (done.returncode, done.stdout) == (0, f"fairlead, version {__version__}\n")


def test_help_names_every_command_and_imports_nothing_heavy(tmp_path: Path):
    program = (
        "import sys; from fairlead.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'aiohttp', 'asyncio', 'discord', 'pydantic', 'rich', 'prompt_toolkit', 'msgspec'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=surroundings(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    for command in ("up", "chat", "doctor", "journal"):
        assert command in done.stdout
    assert done.stdout.splitlines()[-1] == "loaded: []"


def test_a_daemon_with_discord_loads_nothing_that_draws_on_a_terminal(tmp_path: Path):
    program = (
        "import sys, fairlead.real_machine, fairlead.channels.discord.channel, fairlead.channels.http.server\n"
        "heavy = {'rich', 'pygments', 'prompt_toolkit', 'acp', 'mcp'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=surroundings(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "loaded: []\n"


def test_a_daemon_loads_no_library_for_command_lines_and_everything_else_does(tmp_path: Path):
    program = (
        "import sys, fairlead.cli.serving\n"
        "fairlead.cli.serving.serve = lambda *, no_chat, **_: print(no_chat, 'click' in sys.modules) or 0\n"
        "from fairlead.cli.entry import main\n"
        "main()"
    )
    for words, said in ((("up",), "False False\n"), (("up", "--no-chat"), "True False\n"), (("up", "--dance"), "")):
        done = subprocess.run(
            [sys.executable, "-c", program, *words],
            env=surroundings(tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.stdout == said
    assert done.returncode == 2
    assert "No such option" in done.stderr


def test_a_command_that_is_not_there(tmp_path: Path):
    done = run(tmp_path, "dance")
    assert done.returncode == 2
    assert "No such command 'dance'" in done.stderr


@pytest.mark.req("B14", "A18")
@pytest.mark.parametrize("command", [("up",), ("doctor",), ("journal", "verify"), ("chat",)])
def test_wrong_settings_are_all_listed_at_once_without_their_values(tmp_path: Path, command: tuple[str, ...]):
    secret = "MTIzNDU2.very.secret"
    done = run(
        tmp_path, *command, FAIRLEAD_DRAIN_SEC=secret, FAIRLEAD_LANG="klingon", DISCORD_TOKEN=secret, PROJECTS="nope"
    )
    assert done.returncode == 78
    for name in ("FAIRLEAD_DRAIN_SEC", "FAIRLEAD_LANG", "PROJECTS"):
        assert name in done.stderr
    assert secret not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.req("A7")
def test_a_state_directory_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("not a directory")
    done = run(tmp_path, "up", STATE_DIR=str(tmp_path / "file" / "state"))
    assert done.returncode == 78
    assert str(tmp_path / "file/state") in done.stderr
    assert "STATE_DIR" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.req("A7")
def test_a_log_directory_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "logs").write_text("not a directory")
    done = run(tmp_path, "up", LOG_DIR=str(tmp_path / "logs"))
    assert done.returncode == 78
    assert "LOG_DIR" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.req("A7")
def test_a_journal_that_cannot_be_opened_is_named(tmp_path: Path):
    (state_of(tmp_path) / "events.ndjson").mkdir(parents=True)
    done = run(tmp_path, "up")
    assert done.returncode == 78
    assert str(state_of(tmp_path) / "events.ndjson") in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.req("A15")
def test_a_broken_journal_stops_the_start_with_its_line_and_a_code_that_is_not_restarted_on(tmp_path: Path):
    state = state_of(tmp_path)
    state.mkdir(parents=True)
    (state / "events.ndjson").write_text(
        '{"seq":1,"ts":"2026-01-05T08:00:00.000Z","type":"OwnerSet","payload":{"owner_id":"1"}}\nrubbish\n'
    )
    for command in (("up",), ("chat",)):
        done = run(tmp_path, *command)
        assert done.returncode == 78
        assert f"{state / 'events.ndjson'}, line 2: this is not a journal line" in done.stderr
        assert "Traceback" not in done.stderr
    tail = run(tmp_path, "journal", "tail")
    assert tail.returncode == 0
    assert "OwnerSet" in tail.stdout
    assert "cannot be read; `fairlead journal verify`" in tail.stdout
    assert run(tmp_path, "journal", "verify").returncode == 1
    assert (state / "events.ndjson").read_text().endswith("rubbish\n"), "nothing was touched"


@pytest.mark.req("A15")
def test_a_bad_project_in_the_config_stops_the_start_with_its_line(tmp_path: Path):
    state = state_of(tmp_path)
    state.mkdir(parents=True)
    project = {"name": "api", "path": "relative", "enabled_tools": ["echo"], "default_tool": "echo"}
    (state / "config.json").write_text(json.dumps({"version": 1, "projects": {"api": project}}, indent=1))
    done = run(tmp_path, "up")
    assert done.returncode == 78
    assert f"{state / 'config.json'}, line 4: project 'api'" in done.stderr
    checked = run(tmp_path, "doctor")
    assert checked.returncode == 1
    assert "config     FAIL" in checked.stdout
