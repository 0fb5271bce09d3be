import pytest
from core_house import House


@pytest.fixture
def house() -> House:
    return House()
