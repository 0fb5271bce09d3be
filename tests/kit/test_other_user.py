"""Children under another user through sudo, started by a process that is not root: real users, a real rule."""

import json
import os
import pwd
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.kit.other_user import SudoUser
from tests.kit.living_processes import is_alive
from tests.support import accounts

pytestmark = [
    pytest.mark.req("B14"),
    pytest.mark.skipif(not accounts.can_make_sudo_rules(), reason="only root can make users, and sudo must be there"),
]
OWNER, AGENTS = accounts.name_user("owner"), accounts.name_user("agent")


class Stories:
    def __init__(self, python: str, log: Path) -> None:
        self._python = python
        self._log = log

    def tell(self, story: str, env: dict[str, str] | None = None, expected: int = 0) -> Any:
        done = subprocess.run(
            [self._python, "-m", "tests.kit.sudo_stories", story, AGENTS, json.dumps(env or {})],
            env=accounts.environment_of(OWNER),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **accounts.as_user(OWNER),
        )
        assert done.returncode == expected, done.stderr
        return json.loads(done.stdout)

    def logged(self) -> str:
        return self._log.read_text()


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stories]:
    log = tmp_path_factory.mktemp("sudo") / "sudo.log"
    with accounts.make_user(OWNER), accounts.make_user(AGENTS), accounts.make_sudo_rule(OWNER, AGENTS, log):
        python = accounts.find_python_for(OWNER)
        if python is None:
            pytest.skip("no Python here that another user could run")
        yield Stories(python, log)


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that every user may pass through; pytest's own is closed."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        Path(made).chmod(0o711)
        yield Path(made)


def test_the_environment_the_arguments_and_the_input_arrive_whole_and_sudos_log_knows_none_of_them(stories: Stories):
    env = {
        "PATH": "/opt/x:/usr/bin:/bin",
        "THE_API_KEY": "sk-very-secret",
        "LD_FOO": "1",
        "PYTHONPATH": "/taken/away/by/sudo",
        "TZ": "../odd",
        "MANY_LINES": "a\nb 'c' \"d\" $e \\f\n",
        "UMLAUT": "ü",
        "BASH_FUNC_x%%": "() { :; }",
    }
    shown = stories.tell("show_child", env)
    account = pwd.getpwnam(AGENTS)
    own = {"HOME": account.pw_dir, "USER": AGENTS, "LOGNAME": AGENTS, "FAIRLEAD_RUN": "sudo-story:job"}
    made_by_the_shell = {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}
    expected = {name: value for name, value in env.items() if not name.startswith("BASH_FUNC")} | own
    assert {name: value for name, value in shown["env"].items() if name not in made_by_the_shell} == expected
    assert shown["argv"] == ["two words", "a 'quote'", "$HOME", "line\nbreak"]
    assert (shown["uid"], shown["cwd"], shown["stdin"]) == (account.pw_uid, "/usr", "first line\nsecond")
    assert shown["gids"] == [account.pw_gid]
    logged = stories.logged()
    assert "/bin/sh -c" in logged
    assert not [word for word in ("sk-very-secret", "THE_API_KEY", "two words", "first line") if word in logged]


def test_a_child_without_input_reads_its_end(stories: Stories):
    assert stories.tell("empty_input") == "''"


def test_a_stubborn_child_and_its_orphan_end_although_only_the_other_user_may_signal_them(stories: Stories):
    told = stories.tell("end_stubborn")
    assert not any(is_alive(pid) for pid in told["pids"])
    assert told["returncode"] == -9
    killed = [entry for entry in told["killed"] if entry[0] in told["pids"]]
    assert sorted(killed) == sorted([pid, "sudo-story:job", False] for pid in told["pids"])
    assert not any(survived for _, _, survived in told["killed"])


def test_what_a_killed_process_left_over_is_found_by_its_mark_and_ended(stories: Stories):
    left = stories.tell("die", expected=9)
    assert all(is_alive(pid) for pid in left)
    swept = stories.tell("sweep_left_over")
    assert {tuple(entry) for entry in swept} >= {(pid, "sudo-story:job", False) for pid in left}
    assert not any(is_alive(pid) for pid in left)


@pytest.mark.usefixtures("stories")
def test_a_private_file_is_opened_to_that_user_alone_and_once_more_changes_nothing(place: Path):
    directory, file = place / "inbox", place / "inbox/letter"
    directory.mkdir(mode=0o700)
    file.write_text("for the agent")
    file.chmod(0o600)
    user = SudoUser(AGENTS, "/usr/bin/sudo")
    for _ in range(2):
        user.give(directory)
        with file.open("rb") as opened:
            user.give(opened.fileno())

    def can(who: str, deed: str) -> bool:
        command = ["/bin/sh", "-c", f"{deed} '{file}'"]
        return not subprocess.run(command, capture_output=True, check=False, **accounts.as_user(who)).returncode

    assert can(AGENTS, "cat")
    assert can(AGENTS, "echo more >>")
    assert not can(OWNER, "cat")
    root_group = {"user": pwd.getpwnam(OWNER).pw_uid, "group": os.getgid(), "extra_groups": [os.getgid()], "cwd": "/"}
    assert subprocess.run(["/bin/cat", str(file)], capture_output=True, check=False, **root_group).returncode
