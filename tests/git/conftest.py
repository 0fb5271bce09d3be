"""Work trees of a daemon whose state directory lies beside the projects."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.git.harness import Trees


@pytest.fixture
def trees(tmp_path: Path) -> Iterator[Trees]:
    made = Trees(tmp_path / "state")
    yield made
    made.close()
