"""`fairlead doctor`: what is broken, what is missing, and how to go on."""

import os
from pathlib import Path

import pytest

from tests.cli.harness import Daemon, run, state_of
from tests.git.harness import Trees, make_repository
from tests.store.harness import encoded
from tests.support.replaying_cli import write_shim

pytestmark = pytest.mark.req("A21")


def test_doctor_on_a_fresh_machine_is_content_and_tells_how_to_go_on(tmp_path: Path):
    done = run(tmp_path, "doctor")
    assert done.returncode == 0
    for words in ("settings   ok", "there is no journal yet", "echo", "Discord", "`fairlead init`"):
        assert words in done.stdout


def test_doctor_fails_on_what_is_broken_and_says_what(tmp_path: Path):
    state = state_of(tmp_path)
    state.mkdir(parents=True)
    (state / "events.ndjson").write_text("rubbish\n")
    done = run(tmp_path, "doctor", PROJECTS=f'["{tmp_path}/nowhere"]')
    assert done.returncode == 1
    assert "journal    FAIL" in done.stdout
    assert f"projects   FAIL {tmp_path}/nowhere does not exist. Create it, or correct PROJECTS" in done.stdout


def test_doctor_says_whether_the_index_of_the_journal_fits_or_is_made_again(tmp_path: Path):
    state = state_of(tmp_path)
    (state / "events.index").mkdir(parents=True)
    (state / "events.ndjson").write_bytes(encoded())
    told = run(tmp_path, "doctor").stdout
    assert f"journal    ok   {state}/events.index: it does not exist; a journal of this size does not need one" in told
    (state / "events.index" / "000000000000-00000000ffff").write_text("of another journal")
    told = run(tmp_path, "doctor").stdout
    assert (
        f"journal    ok   {state}/events.index: it does not fit the journal: the next start creates it again." in told
    )


@pytest.mark.req("A21")
def test_doctor_names_the_agents_that_are_not_there_and_where_it_looked(tmp_path: Path):
    done = run(tmp_path, "doctor", PATH="/usr/bin:/bin", CLAUDE_COMMAND="claude-of-mine")
    assert "claude-of-mine -    not found on PATH (/usr/bin:/bin). To use this agent, install it" in done.stdout


@pytest.mark.req("A21", "E3")
def test_a_state_below_a_temporary_directory_is_warned_about_where_codex_is(tmp_path: Path):
    shim = write_shim(tmp_path / "bin", "codex", "codex/01-new-turn")
    home = tmp_path / "home"
    home.mkdir()
    where = {"TMPDIR": str(tmp_path), "CODEX_COMMAND": str(shim)}
    warning = f"STATE_DIR {state_of(home)} is below"
    assert f"state      warn {warning}" in run(home, "doctor", **where).stdout
    with Daemon(home, **where).is_up() as daemon:
        daemon.wait_for(f"note: {warning}")
        daemon.stop()
    assert warning not in run(home, "doctor").stdout


@pytest.mark.req("A21", "B4")
def test_doctor_looks_at_configured_agents_too(tmp_path: Path):
    state = state_of(tmp_path)
    state.mkdir(parents=True)
    (state / "config.json").write_text('{"version": 1, "agents": {"mine": {"command": ["/nowhere/mine", "acp"]}}}')
    done = run(tmp_path, "doctor", PATH="/usr/bin:/bin")
    assert "0 project(s), 1 agent(s)" in done.stdout
    assert "  mine     FAIL /nowhere/mine" in done.stdout


def test_doctor_names_the_settings_file_and_what_in_it_is_probably_a_mistake(tmp_path: Path):
    file = tmp_path / ".config" / "fairlead" / ".env"
    assert f"settings   ok   from the environment; {file} does not exist" in run(tmp_path, "doctor").stdout
    file.parent.mkdir(parents=True)
    file.write_text("DISCORD_TOKE=secret\nFAIRLEAD_LANG=en\nrubbish secret\n# fine\nCLAUDE_COMAND=claude\nMINE=1\n")
    done = run(tmp_path, "doctor", FAIRLEAD_MAX_PIECE="1", CLAUDE_CODE_USE_BEDROCK="1")
    told = [line for line in done.stdout.splitlines() if line.startswith("settings")]
    meant = "FAIRLEAD_MAX_PIECES"
    assert told == [
        f"settings   ok   from {file}",
        f"settings   WARN {file}, line 1: DISCORD_TOKE is not a setting. Did you mean DISCORD_TOKEN?",
        f"settings   WARN {file}, line 3 cannot be read. Write it as NAME=value.",
        f"settings   WARN {file}, line 5: CLAUDE_COMAND is not a setting. Did you mean CLAUDE_COMMAND?",
        f"settings   WARN The environment has FAIRLEAD_MAX_PIECE, which is not a setting. Did you mean {meant}?",
    ]
    assert "secret" not in done.stdout + done.stderr


def test_the_env_file_of_a_project_is_not_ours_and_one_that_is_named_is_read(tmp_path: Path):
    (tmp_path / ".env").write_text("DISCORD_TOKEN=of-another-bot\nSTATE_DIR=./data\n")
    done = run(tmp_path, "doctor")
    assert (done.returncode, "of-another-bot" in done.stdout) == (0, False)
    assert "Discord    ok   off" in done.stdout
    named = run(tmp_path, "--env-file", ".env", "journal", "tail")
    assert "DISCORD_OWNER_ID is required too" in named.stderr
    assert named.returncode == 78
    missing = run(tmp_path, "doctor", FAIRLEAD_ENV_FILE="nowhere")
    assert "The settings file" in missing.stderr


def test_settings_in_the_old_place_are_named_and_not_read(tmp_path: Path):
    (tmp_path / ".env").write_text("FAIRLEAD_LANG=ja\n")
    assert f"WARN {tmp_path}/.env has Fairlead settings but is not read." in run(tmp_path, "doctor").stdout


def test_doctor_warns_of_an_agent_that_is_not_logged_in(tmp_path: Path):
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '2.1.300 (Claude Code)'\n")
    program.chmod(0o755)
    done = run(tmp_path, "doctor", PATH=f"{program.parent}:/usr/bin:/bin")
    assert "  claude   WARN claude 2.1.300; No login was found." in done.stdout


def test_doctor_ends_in_words_where_nothing_can_be_written(tmp_path: Path):
    """Nobody, not even root, makes a directory below /sys."""
    done = run(tmp_path, "doctor", STATE_DIR="/sys/fairlead/state", LOG_DIR="/sys/fairlead/logs")
    assert (done.returncode, done.stderr) == (1, "")
    assert "logs       FAIL LOG_DIR /sys/fairlead/logs cannot be written" in done.stdout


def test_plain_http_that_leaves_loopback_is_warned_about_by_doctor_and_at_every_start(tmp_path: Path):
    warning = "warn Other machines can reach it at 0.0.0.0. Without TLS"
    assert f"HTTP       {warning}" in run(tmp_path, "doctor", FAIRLEAD_HTTP_HOST="0.0.0.0").stdout
    assert "Other machines" not in run(tmp_path, "doctor").stdout
    with Daemon(tmp_path, FAIRLEAD_HTTP_HOST="0.0.0.0").is_up() as daemon:
        said = "\n".join(daemon.said)
        assert f"  HTTP      {warning}" in said
        assert "HTTP      on   http://127.0.0.1:" in said, "nobody can open http://0.0.0.0"
        daemon.stop()


def test_a_host_name_that_cannot_be_one_is_refused_with_an_example(tmp_path: Path):
    done = run(tmp_path, "doctor", FAIRLEAD_HTTP_ALLOWED_HOSTS="https://box.example.org, *.example.org")
    assert done.returncode != 0
    told = done.stdout + done.stderr
    assert "FAIRLEAD_HTTP_ALLOWED_HOSTS: takes names such as box.example.org" in told
    assert "https://box.example.org, *.example.org" in told


@pytest.mark.req("F1")
def test_doctor_says_what_snapshots_take_and_what_they_need(tmp_path: Path):
    assert "snapshots  ok   none yet" in run(tmp_path, "doctor").stdout
    assert "snapshots  ok   off" in run(tmp_path, "doctor", FAIRLEAD_TREE_SNAPSHOTS="0").stdout
    app = make_repository(tmp_path / "app")
    (app / "big").write_bytes(os.urandom(3_000_000))
    trees = Trees(state_of(tmp_path))
    trees.snapshot(app)
    trees.close()
    told = run(tmp_path, "doctor").stdout
    assert f"snapshots  ok   {app}: 1 refs below refs/fairlead, 2.9 MB in its repository, 0.0 MB in the state" in told
    (tmp_path / "bin").mkdir()
    assert "snapshots  WARN git was not found" in run(tmp_path, "doctor", PATH=str(tmp_path / "bin")).stdout
