"""A state directory that Codex may write in spite of its sandbox is warned about, and no other."""

from pathlib import Path

import pytest

from fairlead.runtimes.codex.sandbox import describe_exposed_state

pytestmark = pytest.mark.req("E3", "A21")


@pytest.mark.parametrize(
    ("state", "agents", "tmpdir", "below"),
    [
        ("/tmp/state", ("codex",), "", "/tmp"),
        ("/tmp/state", ("claude", "codex-acp"), "", "/tmp"),
        ("/var/scratch/me/state", ("codex",), "/var/scratch", "/var/scratch"),
        ("/tmp/state", ("claude", "gemini"), "", ""),
        ("/home/me/state", ("codex",), "", ""),
        ("/tmpfs/state", ("codex",), "", ""),
    ],
)
def test_a_state_directory_that_codex_may_write_is_warned_about(state: str, agents: tuple, tmpdir: str, below: str):
    told = describe_exposed_state(Path(state), agents, {"TMPDIR": tmpdir})
    assert told.startswith(f"STATE_DIR {state} is below {below}, where Codex may write") if below else told == ""


def test_a_link_into_a_temporary_directory_is_seen_through(tmp_path: Path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "scratch")
    told = describe_exposed_state(tmp_path / "link" / "state", ("codex",), {"TMPDIR": str(tmp_path / "scratch")})
    assert "Set STATE_DIR to a directory that is not temporary." in told
