"""How many agents fit: by cores and free memory, at least two, and never without a reason that can be told."""

import pytest

from fairlead.kit.capacity import MachineSize, read_machine_size


@pytest.mark.parametrize(
    ("cores", "free_mib", "agents"),
    [
        (2, 24_000, 16),  # an agent waits for its model, so two cores carry ten conversations and more
        (8, 3_200, 4),  # memory is short: half of it is left to what else runs
        (1, 300, 2),  # two, however small the machine is
        (64, 512_000, 32),
    ],
)
def test_cores_and_free_memory_decide(cores: int, free_mib: int, agents: int) -> None:
    assert MachineSize(cores, free_mib).agents_that_fit() == agents


@pytest.mark.parametrize(
    ("agents", "free_mib", "all_mib", "has_room"),
    [
        (50, 12_000, 24_000, True),
        (50, 6_100, 24_000, False),  # a quarter of the memory stays free for what else runs
        (65, 90_000, 96_000, False),
        (3, 90_000, 0, False),  # the system does not say what is free
    ],
)
def test_idle_agents_stay_while_memory_is_free(agents: int, free_mib: int, all_mib: int, *, has_room: bool) -> None:
    assert MachineSize(2, free_mib, all_mib).has_room_to_keep(agents) is has_room


def test_this_machine_has_a_size() -> None:
    size = read_machine_size()
    assert size.cores >= 1
    assert size.free_mib > 0
    assert "GiB of free memory" in str(size)
