"""Where the CLIs are kept, and which Node is good enough; the `agents` tests stand on the rest."""

from pathlib import Path

import msgspec
import pytest

from .install import CLIS, cache_root, directory_name, installed_agents, major_version


@pytest.mark.parametrize(("said", "major"), [("v24.21.0\n", 24), ("v20.20.2", 20), ("", 0), ("node: not found", 0)])
def test_the_major_version_is_read_from_what_node_says(said: str, major: int):
    assert major_version(said) == major


def test_another_set_of_versions_is_another_directory():
    assert directory_name(CLIS) != directory_name(CLIS | {"@openai/codex": "0.167.0"})
    assert "/" not in directory_name(CLIS)


def test_the_cache_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_root() == tmp_path / "fairlead" / "agents"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_root() == Path.home() / ".cache" / "fairlead" / "agents"


@pytest.mark.agents
def test_every_agent_is_there_to_be_run():
    paths = msgspec.structs.asdict(installed_agents())
    assert [name for name, path in paths.items() if not path.exists()] == []
