"""The short names of jobs: `#14` is `job_20261117_0014`. Jobs are numbered in the order in which they came, over all
sessions, so the number alone names one. Pure; knows only the jobs that the state still has."""

import re
from collections.abc import Iterable
from typing import Final

from fairlead.core.ids import JobId

_MOST_DIGITS: Final = 9
"""More digits are a message's id on another channel."""


def job_number(job_id: str) -> int:
    """0 for a name that is no job's id."""
    number = job_id.rpartition("_")[2]
    return int(number) if job_id.startswith("job_") and number.isascii() and number.isdecimal() else 0


def short_name(job_id: str) -> str:
    """`#14`; a name that is no job's id stays as it is."""
    number = job_number(job_id)
    return f"#{number}" if number else job_id


def shorten_names(text: str) -> str:
    """Every job's id in it as its short name."""
    return re.sub(r"\bjob_\d+_\d+\b", lambda found: short_name(found[0]), text)


def find_job_id(jobs: Iterable[JobId], name: str) -> JobId:
    """The whole id of a job that is named by its number, with or without `#`; any other name stays as it is."""
    bare = name.strip().removeprefix("#")
    if not (bare.isascii() and bare.isdecimal() and len(bare) <= _MOST_DIGITS):
        return JobId(name)
    wanted = int(bare)
    return next((job_id for job_id in jobs if job_number(job_id) == wanted), JobId(name))
