from pathlib import Path

import pytest


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Room for a daemon, and two directories that may be projects."""
    for name in ("api", "web"):
        (tmp_path / "src" / name).mkdir(parents=True)
    return tmp_path
