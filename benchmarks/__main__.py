"""`make bench`: every row beside its floor, both from this run. `python -m benchmarks WORD…` measures only the groups
of rows whose names hold one of the words."""

import asyncio
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import (
    acp,
    agents,
    answers,
    console,
    daemon,
    discord,
    journal,
    latency,
    machines,
    memory,
    restart,
    round_trips,
    schedules,
    tool_calls,
    trees,
)
from benchmarks.rows import NotMeasured, Row, table

LARGE, SMALL = 1_000_000, 10_000

Rows = Sequence[Row | NotMeasured]


def _appending(directory: Path) -> Rows:
    return asyncio.run(journal.appending_rows(_make_directory(directory / "append")))


def _history(directory: Path) -> Rows:
    large, empty = _make_directory(directory / "large"), _make_directory(directory / "empty")
    return [
        journal.replay_row(large, LARGE),
        *memory.history_rows(_make_directory(directory / "small"), large, SMALL),
        daemon.start_row(directory, large, empty),
        asyncio.run(restart.restart_row(directory / "restarts", large, empty)),
    ]


def _answers(directory: Path) -> Rows:
    return answers.answer_rows(_make_directory(directory / "answers"), directory / "large", LARGE)


def _small(directory: Path) -> Rows:
    accepted = asyncio.run(latency.accepted_row(_make_directory(directory / "latency")))
    return [accepted, memory.idle_row(), memory.session_row(), latency.help_row()]


def _agents(directory: Path) -> Rows:
    return asyncio.run(agents.agent_rows(directory / "agents"))


def _acp(directory: Path) -> Rows:
    return asyncio.run(acp.acp_rows(_make_directory(directory / "acp")))


def _discord(directory: Path) -> Rows:
    return asyncio.run(discord.discord_rows(directory / "discord"))


def _round_trips(directory: Path) -> Rows:
    return asyncio.run(round_trips.round_trip_rows(directory / "trips"))


def _schedules(_directory: Path) -> Rows:
    return schedules.schedule_rows()


def _tool_calls(directory: Path) -> Rows:
    return [asyncio.run(tool_calls.tool_call_row(directory / "tools"))]


def _trees(directory: Path) -> Rows:
    return asyncio.run(trees.tree_rows(directory / "trees"))


def _console(directory: Path) -> Rows:
    return console.console_rows(directory / "console")


def _machines(directory: Path) -> Rows:
    return asyncio.run(machines.machine_rows(_make_directory(directory / "machines")))


GROUPS: dict[str, Callable[[Path], Rows]] = {
    "durable appends": _appending,
    "replay, memory and start of a long history": _history,
    "answers, why and the index of a long history": _answers,
    "message in, idle daemon, session, help": _small,
    "agents": _agents,
    "agents of the agent client protocol": _acp,
    "discord": _discord,
    "round trips beside a bare bot": _round_trips,
    "schedules": _schedules,
    "tool calls of agents": _tool_calls,
    "files of projects": _trees,
    "console in the browser": _console,
    "other machines": _machines,
}


def _make_directory(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    return directory


def measure(directory: Path, words: Sequence[str]) -> list[Row | NotMeasured]:
    wanted = [make for name, make in GROUPS.items() if not words or any(word.lower() in name for word in words)]
    if not wanted:
        sys.exit(f"No group of rows is called so. There are: {'; '.join(GROUPS)}.")
    return [row for make in wanted for row in make(directory)]


with tempfile.TemporaryDirectory(prefix="fairlead-bench-", dir=Path.cwd()) as made:
    print(table(measure(Path(made), sys.argv[1:])))
