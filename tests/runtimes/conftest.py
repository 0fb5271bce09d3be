"""Makes the modules beside this directory importable also when one test file is run alone."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
