"""Agents from npm: pinned, from a lock file that is kept, and never another version than the one that was asked for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.core.agents import ConfiguredAgent
from fairlead.errors import Code, FairleadError
from fairlead.runtimes.install.offers import Package
from tests.runtimes.install.harness import NPMS, Stage
from tests.support.package_index.packages import npm_integrity
from tests.support.package_index.server import PackageIndex

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4")]

NAME = "@example/agent"
PACKAGE = Package(kind="npm", name=NAME, commands=(("agent-acp",), ("agent", "--acp")))


@pytest.fixture(params=NPMS)
def stage(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Stage]:
    with PackageIndex() as index:
        yield Stage(tmp_path, index, npm=request.param)


def publish(stage: Stage, version: str, **manifest: object) -> None:
    stage.index.publish_npm(NAME, version, {"agent": stage.agent_program(version)}, **manifest)


async def refusal(work) -> FairleadError:
    with pytest.raises(FairleadError) as refused:
        await work
    return refused.value


async def test_the_newest_version_is_found_once_and_written_down(stage: Stage):
    publish(stage, "1.0.0")
    publish(stage, "1.1.0")
    installer = stage.installer()
    assert await installer.find_newest(PACKAGE) == "1.1.0"
    made = await installer.install("mine", PACKAGE, "", ("MY_KEY",))
    assert made.agent == ConfiguredAgent(
        name="mine",
        command=(str(made.place / "node_modules/.bin/agent"), "--acp"),
        env=("MY_KEY",),
        version="1.1.0",
        digest=npm_integrity(stage.index.files[f"/tarballs/{NAME}-1.1.0.tgz"]),
        source=f"npm:{NAME}",
    )
    assert made.place.parent == stage.files.root / "mine"
    assert stage.files.find_damage(made.agent) == ""
    assert stage.leftovers() == ["mine"]
    looks = f"npm looks for the newest {NAME}"
    assert stage.watcher.begun == [looks, looks, f"npm installs {NAME} 1.1.0"]


async def test_the_same_release_comes_from_the_lock_file_and_a_changed_one_is_refused(stage: Stage):
    publish(stage, "1.0.0")
    first = await stage.installer().install("mine", PACKAGE, "1.0.0")
    stage.files.remove(first.agent)
    again = await stage.installer().install("mine", PACKAGE, "1.0.0")
    assert (again.agent.version, again.agent.digest) == (first.agent.version, first.agent.digest)
    stage.index.publish_npm(NAME, "1.0.0", {"agent": stage.agent_program("1.0.0", stderr="evil")})
    stage.environment["npm_config_cache"] = str(stage.root / "another-cache")
    refused = await refusal(stage.installer().install("mine", PACKAGE, "1.0.0"))
    assert refused.code is Code.E_AGENT_INSTALL
    assert "EINTEGRITY" in refused.message
    assert [path.name for path in (stage.files.root / "mine").iterdir()] == [again.place.name]


async def test_a_package_or_a_version_that_is_not_there_is_named(stage: Stage):
    publish(stage, "1.0.0")
    unknown = Package(kind="npm", name="@example/nothing")
    refused = await refusal(stage.installer().install("mine", unknown, ""))
    assert (refused.code, refused.message) == (Code.E_AGENT_NOT_FOUND, "npm has no @example/nothing.")
    refused = await refusal(stage.installer().install("mine", PACKAGE, "9.9.9"))
    assert (refused.code, refused.message) == (Code.E_AGENT_NOT_FOUND, f"npm has no {NAME} 9.9.9.")
    assert stage.leftovers() == []


async def test_a_node_that_is_too_old_for_the_package_is_told(stage: Stage):
    publish(stage, "1.0.0", engines={"node": ">=99"})
    made = await stage.installer().install("mine", PACKAGE, "")
    assert made.notes[0].startswith(f"{NAME} asks for Node >=99; this is Node v")


async def test_a_registry_out_of_reach_is_told_and_nothing_is_left(stage: Stage):
    away = stage.installer(npm_config_registry="http://127.0.0.1:9/", npm_config_fetch_retries="0")
    refused = await refusal(away.install("mine", PACKAGE, "1.0.0"))
    assert refused.code is Code.E_AGENT_INSTALL
    assert refused.message.startswith("npm cannot reach its registry")
    assert "npm config get registry" in refused.next_step
    assert stage.leftovers() == []


async def test_another_version_than_the_one_asked_for_is_noticed(tmp_path: Path):
    """What npm on an old Node does."""
    with PackageIndex() as index:
        stage = Stage(tmp_path, index)
        publish(stage, "1.0.0")
        refused = await refusal(stage.installer(NPM_SHIM_INSTALLS="0.4.0").install("mine", PACKAGE, "1.0.0"))
    assert refused.message == f"npm was asked for {NAME} 1.0.0 and installed 0.4.0."
    assert "node --version" in refused.next_step
    assert stage.leftovers() == []


async def test_without_npm_the_person_is_told_to_install_node(tmp_path: Path):
    with PackageIndex() as index:
        stage = Stage(tmp_path, index)
        refused = await refusal(stage.installer(PATH=str(tmp_path)).install("mine", PACKAGE, "1.0.0"))
    assert refused.code is Code.E_AGENT_INSTALL
    assert refused.message == f"npm was not found; searched: {tmp_path}."
    assert "Install Node.js" in refused.next_step
