"""Marks that are this test's alone."""

import uuid
from collections.abc import Iterator

import pytest

from fairlead.kit.processes import sweep


@pytest.fixture
def mark() -> Iterator[str]:
    mine = f"kit-{uuid.uuid4().hex}:job"
    yield mine
    sweep(mine)  # a failed test must leave nothing behind either
