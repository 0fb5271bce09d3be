"""Short names of jobs."""

import pytest

from fairlead.core.ids import JobId
from fairlead.core.job_names import find_job_id, job_number, short_name

JOBS = [JobId("job_20261116_0009"), JobId("job_20261117_0010"), JobId("job_20261117_12345")]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("10", JOBS[1]),
        ("#10", JOBS[1]),
        (" #0010 ", JOBS[1]),
        ("12345", JOBS[2]),
        ("job_20261116_0009", JOBS[0]),
        ("11", "11"),
        ("1572292969677979648", "1572292969677979648"),
        ("key-7", "key-7"),
        ("", ""),
        ("\N{ARABIC-INDIC DIGIT NINE}", "\N{ARABIC-INDIC DIGIT NINE}"),
    ],
)
def test_a_number_names_one_job_and_every_other_name_stays(name: str, found: str):
    assert find_job_id(JOBS, name) == found


def test_the_short_name_of_a_job_is_its_number():
    assert [short_name(job) for job in (*JOBS, "debt_x", "job_x")] == ["#9", "#10", "#12345", "debt_x", "job_x"]
    assert job_number("q_9") == 0
