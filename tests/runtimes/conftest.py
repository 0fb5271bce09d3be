from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Only these programs are on PATH."""

    def install(*names: str) -> Path:
        place = tmp_path / "bin"
        place.mkdir(exist_ok=True)
        for name in names:
            (place / name).write_text("#!/bin/sh\n")
            (place / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(place))
        return place

    install()
    return install
