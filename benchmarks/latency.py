"""Rows about time a person feels: from a message to the agent, and from a command to its help."""

import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from benchmarks.agents import until_at_rest
from benchmarks.journal import BY_A_THREAD, append_durably, open_journal
from benchmarks.rows import Row, at_most, seconds, side_by_side
from fairlead.app import Daemon, run_daemon
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.projects import AddProject, DirectoryFacts
from fairlead.core.engine import EngineEvent, Invocation, TurnEnded
from fairlead.core.ids import MessageId
from fairlead.core.inbound import Inbound
from fairlead.core.keys import user_key
from fairlead.kit.files import make_private_directory
from fairlead.runtimes.echo import EchoRuntime
from fairlead.settings import load_settings

MESSAGES: Final = 60


class _Stopwatch(EchoRuntime):
    """An agent that notes when it was invoked, and says nothing."""

    invoked_at = 0.0

    async def invoke(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:  # pyright: ignore[reportIncompatibleMethodOverride]
        type(self).invoked_at = time.perf_counter()
        assert invocation.prompt
        yield TurnEnded("ok")


async def accepted_row(directory: Path) -> Row:
    settings = load_settings().replace(
        state_dir=directory / "daemon" / "state", log_dir=directory / "daemon" / "logs", http=False, projects=()
    )
    measured: list[float] = []
    floor: list[float] = []
    numbers = itertools.count(1)
    async with open_journal(directory, slow_sec=BY_A_THREAD) as journal, run_daemon(settings) as daemon:
        daemon.runtimes["echo"].invoke = _Stopwatch().invoke  # pyright: ignore[reportAttributeAccessIssue]
        project = directory / "daemon" / "project"
        make_private_directory(project)
        await daemon.flow.ledger.record_durably(AddProject(DirectoryFacts(str(project), str(project))))
        for number in range(MESSAGES):
            measured.append(await _time_invocation(daemon, number))
            began = time.perf_counter()
            for _ in range(2):
                await append_durably(journal, numbers)
            floor.append(time.perf_counter() - began)
    return at_most(
        "message in → runtime invoked",
        statistics.median(measured) * 1e6,
        statistics.median(floor) * 1e6,
        floor_name="two durable appends, by a thread",
        unit="µs",
        factor=2,
    )


async def _time_invocation(daemon: Daemon, number: int) -> float:
    """The message finds an idle daemon, as a person's would, and leaves one."""
    began = time.perf_counter()
    await daemon.flow.gate.submit(
        Inbound(
            conversation=ConversationRef("bench", "fairlead", "local"),
            session_key=user_key(agent_id="fairlead", user_id="local"),
            message_id=MessageId(f"m{number}"),
            person="local",
            text="hello",
            pre_authorised=True,
        )
    )
    await until_at_rest(daemon)
    return _Stopwatch.invoked_at - began


def help_row() -> Row:
    def run(*argv: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, *argv], stdout=subprocess.DEVNULL, check=True))

    measured, floor = side_by_side(lambda: run("-m", "fairlead", "--help"), lambda: run("-c", "import click"), 25)
    floor_name = "python -c 'import click'"
    return at_most("fairlead --help", measured * 1e3, floor * 1e3, floor_name=floor_name, unit="ms", factor=1.5)
