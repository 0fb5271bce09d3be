"""Agents from PyPI: each in an environment of its own, pinned, with the hashes of everything that came with it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.core.agents import ConfiguredAgent
from fairlead.errors import Code, FairleadError
from fairlead.runtimes.install.offers import Package
from fairlead.runtimes.install.pypi import find_pythons
from tests.runtimes.install.harness import Stage
from tests.support.package_index.server import PackageIndex

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4")]

PACKAGE = Package(kind="pypi", name="sample-agent", args=("acp",))
NEWER_PYTHON = f">=3.{sys.version_info.minor + 9}"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with PackageIndex() as index:
        stage = Stage(tmp_path, index)
        stage.index.publish_wheel("sample-agent", "1.0.0", {"sample-agent": stage.agent_program("1.0.0")})
        yield stage


async def refusal(work) -> FairleadError:
    with pytest.raises(FairleadError) as refused:
        await work
    return refused.value


async def test_the_newest_that_this_python_runs_is_installed_and_a_newer_one_is_told(stage: Stage):
    program = stage.agent_program("2.0.0")
    stage.index.publish_wheel("sample-agent", "2.0.0", {"sample-agent": program}, requires_python=NEWER_PYTHON)
    made = await stage.installer().install("sample", PACKAGE, "")
    assert made.agent == ConfiguredAgent(
        name="sample",
        command=(str(made.place / "venv/bin/sample-agent"), "acp"),
        version="1.0.0",
        digest=made.agent.digest,
        source="pypi:sample-agent",
    )
    assert made.agent.digest.startswith("sha256:")
    assert made.notes == (f"sample-agent 2.0.0 needs a newer Python than {sys.executable}.",)
    said = subprocess.run([made.agent.command[0], "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == "1.0.0\n", "its scripts know the place that it was moved to"
    assert stage.leftovers() == ["sample"]
    assert stage.watcher.begun[:2] == [
        f"{Path(sys.executable).name} makes a virtual environment",
        "pip looks for the newest sample-agent",
    ]
    assert stage.watcher.begun[-1] == "pip installs sample-agent 1.0.0"


async def test_the_same_release_comes_with_the_same_hashes_and_a_changed_one_is_refused(stage: Stage):
    first = await stage.installer().install("sample", PACKAGE, "1.0.0")
    pins = stage.files.release("pypi:sample-agent", "1.0.0").read("requirements.lock")
    assert pins == f"sample-agent==1.0.0 --hash={first.agent.digest}\n".encode()
    stage.files.remove(first.agent)
    del stage.index._wheels["sample-agent"]
    changed = stage.agent_program("1.0.0-changed")
    stage.index.publish_wheel("sample-agent", "1.0.0", {"sample-agent": changed})
    refused = await refusal(stage.installer().install("sample", PACKAGE, "1.0.0"))
    assert refused.code is Code.E_AGENT_INSTALL
    assert "HASHES" in refused.message
    assert stage.leftovers() == []


async def test_what_is_not_there_or_needs_another_python_is_told(stage: Stage):
    refused = await refusal(stage.installer().install("sample", Package(kind="pypi", name="nothing"), ""))
    assert (refused.code, refused.message) == (Code.E_AGENT_NOT_FOUND, "PyPI has no nothing.")
    refused = await refusal(stage.installer().install("sample", PACKAGE, "7.0"))
    assert refused.message == "PyPI has no sample-agent 7.0; the newest is 1.0.0."
    stage.index.publish_wheel("later", "1.0.0", {"later": stage.agent_program()}, requires_python=NEWER_PYTHON)
    refused = await refusal(stage.installer().install("later", Package(kind="pypi", name="later"), ""))
    assert refused.code is Code.E_AGENT_INSTALL
    assert refused.message.startswith("later 1.0.0 needs another Python")
    assert "uv tool install later" in refused.next_step
    assert stage.leftovers() == []


def test_newer_pythons_on_path_are_tried_after_fairlead_s_own(tmp_path: Path):
    newer = tmp_path / f"python3.{sys.version_info.minor + 1}"
    newer.write_text("")
    newer.chmod(0o755)
    (tmp_path / "python3.6").write_text("")
    assert find_pythons(str(tmp_path)) == (sys.executable, str(newer))
