"""The check of an agent's program before it is used: its version and its login."""

from pathlib import Path

import pytest

from tests.runtimes.harness import PER_TURN, ReplayStage
from tests.support.replaying_cli import VERSIONS
from tests.support.runtime_contract import closing

pytestmark = [pytest.mark.anyio, pytest.mark.req("A18", "A10")]


@pytest.fixture(params=PER_TURN)
def one_turn(request: pytest.FixtureRequest, tmp_path: Path) -> ReplayStage:
    return ReplayStage(request.param, tmp_path)


@pytest.mark.req("A21")
@pytest.mark.parametrize(("version", "is_ok"), [("0.0.1", False), ("99.0.0", True), ("no number", False)])
async def test_a_version_outside_of_what_was_tried(one_turn: ReplayStage, version: str, *, is_ok: bool):
    async with closing(one_turn.runtime("answers", version=version)) as runtime:
        health = await runtime.check()

    assert health.ok is is_ok
    assert any("older" in note or "newer" in note or "names no version" in note for note in health.notes)


@pytest.mark.req("A21")
async def test_a_good_version_and_no_login(one_turn: ReplayStage):
    async with closing(one_turn.runtime("answers")) as runtime:
        health = await runtime.check()

    assert health.ok
    assert health.version in VERSIONS[one_turn.program]
    assert health.notes[0].startswith("No login was found.")
