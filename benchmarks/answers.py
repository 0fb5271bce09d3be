"""Rows about looking back: what an answer, a look at an old job and the index itself cost when the journal is long."""

import asyncio
import json
import shutil
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp

from benchmarks.daemon import DaemonProcess
from benchmarks.history import write_history
from benchmarks.journal import write_snapshot_beside
from benchmarks.memory import rss_kib
from benchmarks.rows import Row, at_most
from fairlead.core.events import JobEnqueued
from fairlead.kit.files import REAL_DISK
from fairlead.store.history import find_lines
from fairlead.store.journal import JOURNAL_NAME
from fairlead.store.name_index import INDEX_NAME, IndexSizes, load_index

TIMES = 150
PATIENCE_SEC = 120.0

_JOURNAL = """
import asyncio, gc, sys
from pathlib import Path
from benchmarks.journal import open_journal
from benchmarks.answers import first_and_last_job, until_indexed

async def main(directory, with_index):
    async with open_journal(directory) as journal:
        gc.collect()
        if with_index:
            keeping = asyncio.ensure_future(journal.keep_index())
            await until_indexed(directory)
            for job in first_and_last_job(directory) * 50:
                await journal.lines_about([job])
            keeping.cancel()
        gc.collect()
        print([int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmRSS')][0])

asyncio.run(main(Path(sys.argv[1]), sys.argv[2] == 'with'))
"""


def answer_rows(home: Path, large: Path, count: int) -> list[Row]:
    """`large` gets its history if it has none yet."""
    if not (large / JOURNAL_NAME).exists():
        large.mkdir(exist_ok=True)
        write_history(large / JOURNAL_NAME, count)
        write_snapshot_beside(large)
    memory = _memory_row(large)
    (home / "project").mkdir(parents=True)
    settings = {"PROJECTS": json.dumps([str(home / "project")])}
    with DaemonProcess(home, large, settings) as old, DaemonProcess(home, home / "young", settings) as young:
        assert old
        assert young
        return [*asyncio.run(_http_rows(large, home / "young")), memory]


async def until_indexed(directory: Path) -> None:
    """As much of the journal as is worth a run has become one."""
    journal = directory / JOURNAL_NAME
    size = journal.stat().st_size
    async with asyncio.timeout(PATIENCE_SEC):
        while size - load_index(directory / INDEX_NAME, journal, REAL_DISK, size).end > 2 * IndexSizes().unit:  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.2)


def first_and_last_job(directory: Path) -> list[str]:
    path = directory / JOURNAL_NAME
    size = path.stat().st_size
    stretches = ((0, _line_start(path, min(size // 2, 1 << 16))), (_line_start(path, max(0, size - (1 << 16))), size))
    found = [find_lines(REAL_DISK, path, end, ["JobEnqueued"], start) for start, end in stretches]
    jobs = [[line.event.job_id for line in some if isinstance(line.event, JobEnqueued)] for some in found]
    return [jobs[0][0], jobs[1][-1]]


def _line_start(path: Path, offset: int) -> int:
    return offset and offset + REAL_DISK.read(path, offset, 1 << 14).index(b"\n") + 1


async def _http_rows(large: Path, young: Path) -> list[Row]:
    await until_indexed(large)
    oldest, newest = first_and_last_job(large)
    async with _client(large) as old_client, _client(young) as young_client:
        answers = await _in_turn(lambda: _post(old_client), lambda: _post(young_client))
        looks = await _in_turn(lambda: _why(old_client, oldest), lambda: _why(old_client, newest))
    return [
        at_most(
            "POST /v1/messages → answer, echo, 1 M events in the journal",
            answers[0] * 1e3,
            answers[1] * 1e3,
            floor_name="the same, empty journal",
            unit="ms",
            factor=1.2,
        ),
        at_most(
            "/why JOB, oldest job of 1 M events",
            looks[0] * 1e3,
            looks[1] * 1e3,
            floor_name="the same, newest job",
            unit="ms",
            factor=2,
        ),
    ]


def _client(state: Path) -> aiohttp.ClientSession:
    token = (state / "http-token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    return aiohttp.ClientSession((state / "http-address").read_text().strip(), headers=headers)


async def _in_turn(ours: Callable[[], Awaitable[None]], floor: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """Both in turn, so that whatever else the machine does meets both; the median of each."""
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(TIMES + 10):
        for work, times in zip((ours, floor), taken, strict=True):
            began = time.perf_counter()
            await work()
            if number >= 10:  # the first ones start what is started once
                times.append(time.perf_counter() - began)
    return statistics.median(taken[0]), statistics.median(taken[1])


async def _post(client: aiohttp.ClientSession) -> None:
    body = {"userId": "bench", "message": "hello", "project": "project", "tool": "echo"}
    async with client.post("/v1/messages", json=body) as response:
        assert response.status == 200, await response.text()
        assert "hello" in (await response.json())["answer"]


async def _why(client: aiohttp.ClientSession, job: str) -> None:
    async with client.get("/v1/why", params={"subject": job}) as response:
        assert response.status == 200, await response.text()
        assert len((await response.json())["steps"]) >= 5


def _memory_row(large: Path) -> Row:
    """With an index that this very process made from nothing, and looked things up in."""
    shutil.rmtree(large / INDEX_NAME, ignore_errors=True)
    with_index = rss_kib(_JOURNAL, str(large), "with") / 1024
    without = rss_kib(_JOURNAL, str(large), "without") / 1024
    name = "RSS with the index, 1 M events"
    return Row(
        name=name,
        measured=with_index,
        floor=without,
        floor_name="without",
        unit="MiB",
        reach="≤ + 10 MiB",
        reached=with_index <= without + 10,
    )
