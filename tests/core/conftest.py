import pytest
from core_house import CoreHarness
from hypothesis import settings

# For runs under coverage, where every step is slow and the first examples already go everywhere.
settings.register_profile("brief", max_examples=5, deadline=None)


@pytest.fixture
def core() -> CoreHarness:
    return CoreHarness()
