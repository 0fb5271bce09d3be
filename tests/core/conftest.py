import pytest
from hypothesis import settings

from tests.core.harness import CoreHarness

# For runs under coverage, where every step is slow and the first examples already go everywhere.
settings.register_profile("brief", max_examples=5, deadline=None)


@pytest.fixture
def core() -> CoreHarness:
    return CoreHarness()
