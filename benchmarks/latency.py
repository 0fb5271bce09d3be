"""Rows about time a person feels: from a message to the agent, and from a command to its help."""

import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.journal import append_durably, open_journal
from benchmarks.rows import Row, at_most, seconds, side_by_side
from fairlead.app import run_daemon
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.projects import AddProject, DirectoryFacts
from fairlead.core.engine import EngineEvent, Invocation, TurnEnded
from fairlead.core.ids import MessageId
from fairlead.core.inbound import Inbound
from fairlead.core.keys import user_key
from fairlead.kit.files import make_private_directory
from fairlead.runtimes.echo import EchoRuntime
from fairlead.settings import load_settings


class _Stopwatch(EchoRuntime):
    """An agent that notes when it was invoked, and says nothing."""

    invoked_at = 0.0

    async def invoke(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:  # pyright: ignore[reportIncompatibleMethodOverride]
        type(self).invoked_at = time.perf_counter()
        assert invocation.prompt
        yield TurnEnded("ok")


async def accepted_row(directory: Path) -> Row:
    floor: list[float] = []
    numbers = itertools.count(1)
    async with open_journal(directory) as journal:
        for _ in range(200):
            began = time.perf_counter()
            for _ in range(2):
                await append_durably(journal, numbers)
            floor.append(time.perf_counter() - began)
    measured = await _invocations(directory / "daemon")
    name = "message in → runtime invoked"
    return at_most(
        name,
        statistics.median(measured) * 1e6,
        statistics.median(floor) * 1e6,
        floor_name="two durable appends",
        unit="µs",
        factor=2,
    )


async def _invocations(directory: Path) -> list[float]:
    settings = load_settings().replace(
        state_dir=directory / "state", log_dir=directory / "logs", http=False, projects=()
    )
    taken: list[float] = []
    async with run_daemon(settings) as daemon:
        daemon.runtimes["echo"].invoke = _Stopwatch().invoke  # pyright: ignore[reportAttributeAccessIssue]
        project = directory / "project"
        make_private_directory(project)
        await daemon.flow.ledger.record_durably(AddProject(DirectoryFacts(str(project), str(project))))
        conversation = ConversationRef("bench", "fairlead", "local")
        key = user_key(agent_id="fairlead", user_id="local")
        for n in range(200):
            began = time.perf_counter()
            await daemon.flow.gate.submit(
                Inbound(
                    conversation=conversation,
                    session_key=key,
                    message_id=MessageId(f"m{n}"),
                    person="local",
                    text="hello",
                    pre_authorised=True,
                )
            )
            state = daemon.flow.ledger.state
            while state.running or state.ready:
                await daemon.flow.ledger.until_changed(state.seq)
            taken.append(_Stopwatch.invoked_at - began)
            await daemon.flow.ledger.until_all_durable()  # the next message finds an idle daemon, as a person's would
    return taken


def help_row() -> Row:
    def run(*argv: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, *argv], stdout=subprocess.DEVNULL, check=True))

    measured, floor = side_by_side(lambda: run("-m", "fairlead", "--help"), lambda: run("-c", "import click"), 25)
    floor_name = "python -c 'import click'"
    return at_most("fairlead --help", measured * 1e3, floor * 1e3, floor_name=floor_name, unit="ms", factor=1.5)
