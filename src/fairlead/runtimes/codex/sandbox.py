"""What Codex's sandbox leaves open besides the project: the temporary directories. Looks at paths alone."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

_SANDBOXED: Final = frozenset({"codex", "codex-acp"})


def describe_exposed_state(state_dir: Path, agents: Iterable[str], environment: Mapping[str, str] = os.environ) -> str:
    """A warning if Codex is there and may write into the state directory; else empty. In its sandbox, Codex writes
    below /tmp and TMPDIR as freely as in the project."""
    if _SANDBOXED.isdisjoint(agents):
        return ""
    state = state_dir.resolve()
    named = [name for name in ("/tmp", environment.get("TMPDIR", "")) if name]  # noqa: S108 - Codex's own list
    open_to_codex = next((name for name in named if state.is_relative_to(Path(name).resolve())), "")
    if not open_to_codex:
        return ""
    return (
        f"STATE_DIR {state_dir} is below {open_to_codex}, where Codex may write despite its sandbox: it could"
        " change the journal and its own permissions. Set STATE_DIR to a directory that is not temporary."
    )
