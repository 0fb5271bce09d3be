"""`fairlead agent`: the agents that are there, and adding, updating and removing them."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.harness import Daemon, run, state_of, surroundings
from tests.runtimes.install.harness import write_npm
from tests.support.package_index.packages import tarball
from tests.support.package_index.server import PackageIndex, platform_here
from tests.support.scripted_acp.shim import write_shim

pytestmark = pytest.mark.req("B4")


class Machine:
    """A home, an npm, and an index of packages that has opencode 1.18.1."""

    def __init__(self, home: Path, index: PackageIndex) -> None:
        self.home = home
        self.index = index
        self.settings = index.settings(home) | {"PATH": f"{write_npm(home / 'npm')}:/usr/bin:/bin"}
        self.publish("1.18.1")

    def publish(self, version: str, **switches: Any) -> None:
        program = write_shim(self.home / "programs", f"opencode-{version}", bare=True, version=version, **switches)
        self.index.publish_npm("opencode-ai", version, {"opencode": program})

    def run(self, *words: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return run(self.home, *words, stdin=stdin, **(self.settings | more))

    def says(self, *words: str, **more: str) -> list[str]:
        done = self.run(*words, **more)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    def refuses(self, *words: str, **more: str) -> str:
        done = self.run(*words, **more)
        assert done.returncode == 1, done.stdout
        assert "Traceback" not in done.stderr
        return done.stderr.removeprefix("fairlead: ").rstrip()

    @property
    def agents(self) -> dict[str, Any]:
        config = state_of(self.home) / "config.json"
        return json.loads(config.read_text()).get("agents", {}) if config.exists() else {}

    def places(self, name: str = "opencode") -> list[Path]:
        return sorted((state_of(self.home) / "agents" / name).glob("*"))


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with PackageIndex() as index:
        yield Machine(tmp_path, index)


# --- list and search


def test_the_list_names_every_agent_the_preferred_one_first(tmp_path: Path):
    state = state_of(tmp_path)
    state.mkdir(parents=True)
    (state / "config.json").write_text('{"version": 1, "agents": {"mine": {"command": ["/opt/mine", "acp"]}}}')
    done = run(tmp_path, "agent", "list", PATH="/usr/bin:/bin", AGENT_COMMAND='["goose", "acp", "--quiet"]')
    assert done.stdout.splitlines() == [
        "goose         goose acp --quiet",
        "mine          /opt/mine acp  [config]",
        "echo          built in",
    ]


def test_search_lists_known_agents_and_says_that_no_registry_is_set(machine: Machine):
    done = machine.run("agent", "search", "code")
    assert done.stdout.splitlines() == [
        "NAME        VERSION  FROM  HERE  WHAT IT IS",
        "claude-acp  newest   npm   -     Claude Code over ACP",
        "codex-acp   newest   npm   -     OpenAI Codex over ACP: asks for permission, which `codex exec` cannot",
        "opencode    newest   npm   -     opencode: open source, many model providers",
        "qwen        newest   npm   -     Qwen Code, by Alibaba",
        "auggie      newest   npm   -     Auggie CLI, by Augment Code",
        "kilo        newest   npm   -     Kilo Code CLI",
    ]
    known = "Only agents that Fairlead knows by name are found.\n"
    assert done.stderr == f"No registry is set (FAIRLEAD_AGENT_REGISTRY). {known}"
    away = machine.run("agent", "search", "opencode", FAIRLEAD_AGENT_REGISTRY="http://127.0.0.1:9/registry.json")
    assert away.returncode == 0
    assert "http://127.0.0.1:9/registry.json cannot be read: " in away.stderr
    assert known in away.stderr
    assert away.stdout.splitlines()[-1].startswith("opencode ")


def test_search_lists_the_registry_over_http_and_from_a_file(machine: Machine):
    sample = {
        "id": "sample",
        "version": "3.1.0",
        "description": "Writes sample code",
        "distribution": {"uvx": {"package": "sample-agent==3.1.0"}},
    }
    broken = {"id": "broken"}
    over_http = machine.index.publish_registry(sample, broken)
    file = machine.home / "registry.json"
    file.write_bytes(machine.index.files["/registry.json"])
    for registry in (over_http, str(file)):
        done = machine.run("agent", "search", "SAMPLE", FAIRLEAD_AGENT_REGISTRY=registry)
        assert done.stdout.splitlines()[1:] == ["sample  3.1.0    PyPI  -     Writes sample code"]
        assert done.stderr == "Entries of the registry that could not be read: broken.\n"
    nothing = machine.run("agent", "search", "nothing", FAIRLEAD_AGENT_REGISTRY=over_http)
    assert nothing.stdout == "No agent has 'nothing' in its name, description or package.\n"


# --- add, update, remove


def test_an_agent_is_added_updated_and_removed_while_the_daemon_runs_and_is_usable_at_once(machine: Machine):
    project = machine.home / "shop"
    project.mkdir()
    with Daemon(machine.home, **machine.settings, PROJECTS=f'["{project}"]').is_up() as daemon:
        assert machine.says("agent", "add", "opencode") == [
            "Installing opencode from npm (opencode-ai) …",
            "  npm looks for the newest opencode-ai …",
            "  npm installs opencode-ai 1.18.1 …",
            "  opencode starts once, as a check …",
            "opencode 1.18.1 was added. People choose it with /tool opencode, in shop.",
            "If it is not logged in yet: Run `opencode auth login`.",
        ]
        assert machine.says("agent", "add", "opencode") == [
            "opencode 1.18.1 is already installed. `fairlead agent update` looks for a newer one."
        ]
        talk = machine.run("chat", "--tool", "opencode", "--user", "alice", stdin="hello")
        assert (talk.returncode, talk.stderr) == (0, "~ is not a project; working in shop.\n")
        assert "hello" in talk.stdout
        (first,) = machine.places()
        machine.publish("1.18.2")
        assert machine.says("agent", "update", "opencode") == [
            "  npm looks for the newest opencode-ai …",
            "Installing opencode 1.18.2 from npm (opencode-ai) …",
            "  npm installs opencode-ai 1.18.2 …",
            "  opencode starts once, as a check …",
            "opencode: 1.18.1 → 1.18.2.",
        ]
        (second,) = machine.places()
        assert first.name.startswith("1.18.1-")
        assert second.name.startswith("1.18.2-")
        newest = ["  npm looks for the newest opencode-ai …", "opencode 1.18.2 is the newest."]
        assert machine.says("agent", "update") == newest
        again = machine.run("chat", "--tool", "opencode", "--user", "alice", stdin="hello again")
        assert "hello again" in again.stdout
        used = machine.refuses("agent", "remove", "opencode")
        assert used.startswith("E_AGENT_IN_USE: opencode is used by session ")
        assert used.endswith("or add --force.")
        assert machine.places() == [second]
        removed = machine.says("agent", "remove", "opencode", "--force")
        assert removed[0] == "opencode was removed."
        assert removed[1].startswith("These used it and need another agent (/tool NAME): session ")
        assert machine.places() == []
        assert daemon.stop() == 0
    assert machine.agents == {}


def test_without_a_daemon_an_agent_is_added_and_the_next_start_offers_it(machine: Machine):
    machine.publish("1.0.0")
    assert machine.says("agent", "add", "opencode@1.0.0", "--env", "MY_KEY")[:4] == [
        "Installing opencode 1.0.0 from npm (opencode-ai) …",
        "  npm installs opencode-ai 1.0.0 …",
        "  opencode starts once, as a check …",
        "Note: 1.0.0 is older than 1.18.0, the oldest tested version. Update it.",
    ]
    (place,) = machine.places()
    assert machine.agents["opencode"] == {
        "command": [str(place / "node_modules/.bin/opencode"), "acp"],
        "env": ["MY_KEY"],
        "version": "1.0.0",
        "digest": machine.agents["opencode"]["digest"],
        "source": "npm:opencode-ai",
    }
    doctor = machine.run("doctor").stdout
    assert "installed  ok   opencode 1.0.0 (npm:opencode-ai), unchanged." in doctor
    assert "1.0.0; 1.0.0 is older than 1.18.0, the oldest tested version. Update it." in doctor
    with Daemon(machine.home, **machine.settings) as daemon:
        assert "opencode" in daemon.wait_for("agents    on")
    assert machine.places() == [place]
    (place / "node_modules/opencode-ai/bin/opencode").write_text("#!/bin/sh\n")
    broken = machine.run("doctor")
    assert broken.returncode == 1
    assert "was changed since it was installed. `fairlead agent update opencode` installs it again." in broken.stdout
    assert machine.says("agent", "update", "opencode@1.0.0")[-1] == "opencode 1.0.0 was installed again."
    assert machine.says("agent", "remove", "opencode") == ["opencode was removed."]


def test_a_command_that_is_installed_already_is_a_line_of_configuration(machine: Machine):
    program = write_shim(machine.home / "bin", "my-agent", bare=True)
    added = machine.says("agent", "add", "mine", "--env", "MY_KEY", "--", "bin/my-agent", "--acp", "-v")
    assert added == ["mine was added. People choose it with /tool mine."]
    assert machine.agents == {
        "mine": {"command": [str(program), "--acp", "-v"], "env": ["MY_KEY"], "source": "command"}
    }
    assert "mine was not installed by Fairlead" in machine.refuses("agent", "update", "mine")
    assert "The agent mine already exists" in machine.refuses("agent", "add", "mine")
    assert machine.says("agent", "remove", "mine") == ["mine was removed."]
    assert program.exists()


def test_a_download_of_the_registry_is_installed_and_its_first_digest_is_kept(machine: Machine):
    def publish(**switches: Any) -> None:
        shim = write_shim(machine.home / "programs", "sample", bare=True, **switches)
        machine.index.files["/sample.tgz"] = tarball({"bin/sample": shim.read_bytes()})

    run_it = {"archive": "sample.tgz", "cmd": "./bin/sample", "args": ["acp"], "env": {"SAMPLE_QUIET": "1"}}
    entry = {"id": "sample", "version": "3.1.0", "distribution": {"binary": {platform_here(): run_it}}}
    registry = {"FAIRLEAD_AGENT_REGISTRY": machine.index.publish_registry(entry)}
    publish()
    assert machine.says("agent", "add", "sample", **registry) == [
        "Installing sample from sample.tgz …",
        "  sample 3.1.0 is downloaded and unpacked …",
        "  sample starts once, as a check …",
        "sample 3.1.0 was added. People choose it with /tool sample.",
    ]
    assert machine.agents["sample"]["command"][:2] == ["/usr/bin/env", "SAMPLE_QUIET=1"]
    assert machine.says("agent", "update", **registry) == ["sample 3.1.0 is the newest."]
    assert "Set FAIRLEAD_AGENT_REGISTRY" in machine.refuses("agent", "update", "sample")
    machine.says("agent", "remove", "sample", **registry)
    publish(version="evil")
    for _ in ("as the files say", "as the journal says"):
        assert machine.refuses("agent", "add", "sample", **registry).startswith("E_AGENT_DIGEST: ")
        assert machine.agents == {}
        assert machine.places("sample") == []
        shutil.rmtree(state_of(machine.home) / "agents", ignore_errors=True)


# --- what goes wrong


def test_an_agent_that_does_not_answer_is_not_added_and_an_update_to_one_changes_nothing(machine: Machine):
    machine.says("agent", "add", "opencode")
    (place,) = machine.places()
    machine.publish("1.18.2", on={"start": "exits"}, stderr="no such library")
    refused = machine.refuses("agent", "update", "opencode")
    assert refused.startswith("E_AGENT_INSTALL: ")
    assert "does not answer as an ACP agent" in refused
    assert "no such library" in refused
    assert machine.places() == [place]
    assert machine.agents["opencode"]["version"] == "1.18.1"
    assert "does not answer" in machine.refuses("agent", "add", "mine", "--", "/bin/true")
    assert list(machine.agents) == ["opencode"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "opencod"), "E_AGENT_NOT_FOUND: There is no known agent 'opencod'. Did you mean opencode"),
        (("add", "opencode@latest"), "E_INVALID_ARGS: 'latest' is not a version."),
        (("add", "opencode@9.9.9"), "E_AGENT_NOT_FOUND: npm has no opencode-ai 9.9.9."),
        (("add", "gemini"), "E_INVALID_NAME: Agent 'gemini' is built in; another agent needs another name."),
        (("add", "My Agent"), "E_INVALID_NAME: Agent name 'My Agent' is not"),
        (("add", "opencode", "--env", "KEY=secret"), "E_INVALID_ARGS: Agent 'opencode': env holds names of variables"),
        (("add", "cursor"), "E_AGENT_INSTALL: cursor is in no index of packages that Fairlead knows"),
        (("update", "opencode"), "E_AGENT_NOT_FOUND: opencode was not added here."),
        (("remove", "claude"), "E_INVALID_NAME: claude is built in"),
        (("remove", "nothing"), "E_AGENT_NOT_FOUND: There is no configured agent 'nothing'."),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_named_with_what_to_do_next(machine: Machine, words: tuple[str, ...], said: str):
    refused = machine.refuses("agent", *words)
    assert refused.startswith(said)
    assert "secret" not in refused
    assert machine.agents == {}
    assert machine.places() == []


def test_a_daemon_that_serves_no_http_is_told_before_anything_is_installed(machine: Machine):
    with Daemon(machine.home, **machine.settings, FAIRLEAD_HTTP="0").is_up():
        done = machine.run("agent", "add", "opencode")
    assert done.returncode == 78
    assert "has its HTTP server turned off. Start it with FAIRLEAD_HTTP=1." in done.stderr
    assert machine.index.asked == []


def test_an_install_that_is_killed_leaves_nothing_half_made(machine: Machine):
    slow = machine.home / "slow"
    slow.mkdir()
    for name in ("began", "goes-on"):
        os.mkfifo(machine.home / name)
    npm = slow / "npm"
    npm.write_text(f"#!/bin/sh\ntouch half-made\necho $PWD > {machine.home}/began\ncat {machine.home}/goes-on\n")
    npm.chmod(0o755)
    environment = surroundings(machine.home, **machine.settings | {"PATH": f"{slow}:/usr/bin:/bin"})
    argv = [sys.executable, "-m", "fairlead", "agent", "add", "opencode@1.18.1"]
    with subprocess.Popen(argv, env=environment, cwd=machine.home, stdout=subprocess.PIPE) as installing:
        half_made = Path((machine.home / "began").read_text().strip())
        assert (half_made / "half-made").exists()
        busy = machine.run("agent", "add", "opencode")
        assert "installs or removes an agent" in busy.stderr
        installing.send_signal(signal.SIGKILL)
    (machine.home / "goes-on").write_text("")  # npm itself ends
    assert machine.agents == {}
    assert machine.places() == []
    machine.says("agent", "add", "opencode")
    assert not half_made.exists()
    assert len(machine.places()) == 1
