"""`agents.json` of a runner: what the command line writes, and a person may write, the runner follows."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from fairlead.core.agents import ConfiguredAgent
from fairlead.errors import FairleadError
from fairlead.ports import Runtime
from fairlead.runner.added_agents import AddedAgents
from fairlead.store.agents_file import AGENTS_FILE_NAME, AgentsFile

pytestmark = pytest.mark.req("H3")
MINE = ConfiguredAgent(name="mine", command=("/opt/mine", "acp"), env=("MY_KEY",))
OPENCODE = ConfiguredAgent(
    name="opencode", command=("/x/opencode", "acp"), version="1.18.1", digest="sha512-x", source="npm:opencode-ai"
)


class Maker:
    """runner.added_agents.RuntimeMaker that notes what it is told."""

    def __init__(self) -> None:
        self.followed: list[list[str]] = []

    def follow(self, configured: Mapping[str, ConfiguredAgent]) -> list[Runtime]:
        self.followed.append(list(configured))
        return []


def test_what_was_written_is_read_again_and_only_its_owner_can_read_it(tmp_path: Path):
    file = AgentsFile(tmp_path / "runner")
    assert file.read() == {}
    file.write([MINE, OPENCODE])
    assert file.read() == {"mine": MINE, "opencode": OPENCODE}
    assert json.loads(file.path.read_text())["agents"]["mine"] == {
        "command": ["/opt/mine", "acp"],
        "env": ["MY_KEY"],
        "source": "command",
    }
    assert file.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_change_is_followed_once_and_a_mistake_changes_nothing(tmp_path: Path):
    file, maker = AgentsFile(tmp_path), Maker()
    added = AddedAgents(file, maker)
    added.begin()
    assert added.follow() is None
    file.write([MINE])
    assert added.follow() == []
    assert added.follow() is None
    file.path.write_text('{"version": 1, "agents": {"mine": {"command": []}}}')
    assert added.follow() is None
    assert added.find_added("mine") == MINE
    file.write([MINE, OPENCODE])
    assert added.follow() == []
    file.path.unlink()
    assert added.follow() == []
    assert maker.followed == [[], ["mine"], ["mine", "opencode"], []]


def test_a_start_with_a_mistake_in_the_file_names_the_line(tmp_path: Path):
    file = AgentsFile(tmp_path)
    file.path.write_text('{\n  "version": 1,\n  "agents": {\n    "claude": {"command": ["x"]}\n  }\n}')
    with pytest.raises(FairleadError, match=rf"{AGENTS_FILE_NAME}, line 4: agent 'claude' is built in"):
        AddedAgents(file, Maker()).begin()
