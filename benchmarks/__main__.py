"""`make bench`: every row beside its floor, both from this run."""

import asyncio
import tempfile
from pathlib import Path

from benchmarks import agents, daemon, discord, journal, latency, memory
from benchmarks.rows import NotMeasured, Row, table

LARGE, SMALL = 1_000_000, 10_000


def measured_rows(place: Path) -> list[Row | NotMeasured]:
    directories = {name: place / name for name in ("append", "large", "small", "empty", "latency")}
    for directory in directories.values():
        directory.mkdir()
    rows: list[Row | NotMeasured] = [*asyncio.run(journal.appending_rows(directories["append"]))]
    rows.append(journal.replay_row(directories["large"], LARGE))
    rows += memory.history_rows(directories["small"], directories["large"], SMALL)
    rows.append(daemon.start_row(place, directories["large"], directories["empty"]))
    rows.append(asyncio.run(latency.accepted_row(directories["latency"])))
    rows.append(memory.idle_row())
    rows.append(memory.session_row())
    rows.append(latency.help_row())
    rows += asyncio.run(agents.agent_rows(place / "agents"))
    return [*rows, *asyncio.run(discord.discord_rows(place / "discord"))]


with tempfile.TemporaryDirectory(prefix="fairlead-bench-", dir=Path.cwd()) as place:
    print(table(measured_rows(Path(place))))
