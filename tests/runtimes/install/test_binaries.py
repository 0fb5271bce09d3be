"""Agents that a registry offers for download: unpacked safely, with the digest of first use."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.core.agents import ConfiguredAgent
from fairlead.errors import Code, FairleadError
from fairlead.runtimes.install.index import BinaryRun
from fairlead.runtimes.install.installer import choose_way
from fairlead.runtimes.install.offers import Binary, Offer
from tests.runtimes.install.harness import Stage
from tests.support.package_index.packages import tarball
from tests.support.package_index.server import PackageIndex

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4")]


def binary(archive: str = "goose.tar.gz", cmd: str = "./bin/goose") -> Binary:
    return Binary(agent="goose", version="1.9.0", run=BinaryRun(archive, cmd, ("acp",), {"GOOSE_QUIET": "1"}))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with PackageIndex() as index:
        index.files["/goose.tar.gz"] = tarball({"bin/goose": b"#!/bin/sh\n", "LICENSE": b"words"})
        yield Stage(tmp_path, index)


async def refusal(work) -> FairleadError:
    with pytest.raises(FairleadError) as refused:
        await work
    return refused.value


async def test_a_download_is_installed_with_its_arguments_and_variables(stage: Stage):
    made = await stage.installer(f"{stage.index.url}/registry.json").install("goose", binary(), "")
    assert made.agent == ConfiguredAgent(
        name="goose",
        command=("/usr/bin/env", "GOOSE_QUIET=1", str(made.place / "files/bin/goose"), "acp"),
        version="1.9.0",
        digest=made.agent.digest,
        source="registry:goose",
    )
    assert stage.files.find_damage(made.agent) == ""
    assert sorted(path.name for path in made.place.iterdir()) == ["files", "installed.json"]


async def test_a_release_whose_content_changed_is_not_even_unpacked(stage: Stage):
    installer = stage.installer(f"{stage.index.url}/registry.json")
    first = await installer.install("goose", binary(), "")
    stage.files.remove(first.agent)
    again = await installer.install("goose", binary(), "1.9.0")
    stage.files.remove(again.agent)
    stage.index.files["/goose.tar.gz"] = tarball({"bin/goose": b"#!/bin/sh\necho evil\n"})
    refused = await refusal(installer.install("goose", binary(), ""))
    assert refused.code is Code.E_AGENT_DIGEST
    assert first.agent.digest in refused.message
    assert stage.leftovers() == []


async def test_a_file_beside_an_index_that_is_a_file_needs_no_network(stage: Stage, tmp_path: Path):
    (tmp_path / "goose-linux").write_bytes(b"#!/bin/sh\n")
    installer = stage.installer(str(tmp_path / "registry.json"))
    made = await installer.install("goose", binary("goose-linux", "./goose"), "")
    assert made.agent.command[2] == str(made.place / "files/goose-linux")
    assert stage.index.asked == []


async def test_what_is_not_there_is_told_and_leaves_nothing(stage: Stage):
    installer = stage.installer(f"{stage.index.url}/registry.json")
    for wrong in ("./other", "../../../../bin/sh", "/bin/sh"):
        refused = await refusal(installer.install("goose", binary(cmd=wrong), ""))
        assert refused.message == f"The archive of goose 1.9.0 has no {wrong}, its program in the registry."
    refused = await refusal(installer.install("goose", binary(), "1.8.0"))
    assert refused.message == "The registry offers goose 1.9.0 for download, and not 1.8.0."
    assert (await refusal(installer.install("goose", binary("no.tgz"), ""))).code is Code.E_AGENT_INSTALL
    assert stage.leftovers() == []


async def test_an_agent_without_a_way_is_installed_by_its_publisher():
    with pytest.raises(FairleadError) as refused:
        choose_way(Offer(name="cursor"))
    assert "fairlead agent add cursor -- " in refused.value.next_step
