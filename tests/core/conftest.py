import pytest
from core_house import House
from hypothesis import settings

# For runs under coverage, where every step is slow and the first examples already go everywhere.
settings.register_profile("brief", max_examples=5, deadline=None)


@pytest.fixture
def house() -> House:
    return House()
