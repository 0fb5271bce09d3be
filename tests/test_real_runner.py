"""What the start of a runner does before it dials anybody."""

from pathlib import Path

import pytest

from fairlead.core.ids import SessionKeyText
from fairlead.core.machines.messages import StoredImage
from fairlead.core.machines.runner_state import AgentTurnTaken, RunnerState, TurnEventsNoted
from fairlead.kit.files import REAL_DISK
from fairlead.real_runner import _remove_old_files
from fairlead.store.blobs import BLOBS_NAME, FileBlobs

pytestmark = [pytest.mark.anyio, pytest.mark.req("H3")]


async def run_at_once(work):
    return work()


async def test_a_start_removes_the_pictures_of_settled_turns(tmp_path: Path):
    blobs = FileBlobs(tmp_path, disk=REAL_DISK, offload=run_at_once)
    wanted, settled = await blobs.put(b"wanted"), await blobs.put(b"settled")
    state = RunnerState()
    begun = AgentTurnTaken(turn_id="s@1", agent="echo", session_key=SessionKeyText("s"), generation=1, agent_turn="1")
    state.apply(begun)
    state.apply(TurnEventsNoted(turn_id="s@1", events=(StoredImage(media_type="image/png", digest=wanted),)))
    _remove_old_files(tmp_path, (), blobs, state)
    left = [path.name for path in (tmp_path / BLOBS_NAME).iterdir()]
    assert left == [wanted], settled
