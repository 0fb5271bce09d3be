"""Rows about agents: starting one, talking to it again, reading what it prints, and being rid of it.

The real claude is measured where it is on PATH or in the cache of the agent tests, against a model on loopback.
"""

import asyncio
import os
import shutil
import statistics
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks.agent_stream import KEY, write_stream
from benchmarks.daemon import DaemonProcess
from benchmarks.model import model_on_loopback
from benchmarks.punctual import Punctual
from benchmarks.rows import NotMeasured, Row, at_most, forget_earlier_rows, seconds, side_by_side
from fairlead.api.client import Client
from fairlead.api.wire import Done, Failed
from fairlead.app import Daemon, run_daemon
from fairlead.channels.http.token import read_or_make_token
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.projects import AddProject, DirectoryFacts
from fairlead.core.engine import Invocation, ResumeKeyFound, TurnEnded
from fairlead.core.ids import JobId, MessageId, ResumeKey, SessionKeyText
from fairlead.core.inbound import Inbound
from fairlead.core.keys import user_key
from fairlead.kit.files import make_private_directory
from fairlead.kit.process_table import system_table
from fairlead.runtimes.claude import wire
from fairlead.runtimes.claude.command_line import ClaudeSettings
from fairlead.runtimes.claude.runtime import ClaudeRuntime
from fairlead.runtimes.claude.translate import ClaudeTranslator
from fairlead.runtimes.clean_ups import ANSWER_FIRST_SEC
from fairlead.settings import load_settings

MB: Final = 1_000_000
STREAM_BYTES: Final = 100 * MB
LONG_LINE: Final = 25 * MB
SPAWNS: Final = 120
TURNS: Final = 5
_REST: Final = ANSWER_FIRST_SEC + 0.05
"""Between two measurements, so that neither pays for what the other left running: the clean-up of its process too."""

_DEAF: Final = "#!/bin/sh\ntrap '' INT TERM\necho up\nsleep 1000 &\nwhile :; do sleep 1000; done\n"
_LONG: Final = """#!/usr/bin/env python3
import json, sys
def say(**event):
    print(json.dumps(event), flush=True)
if "--version" in sys.argv:
    raise SystemExit(print("2.1.0 (Claude Code)"))
asked = json.loads(next(line for line in sys.stdin if '"user"' in line))["uuid"]
result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x" * %d}]}
say(type="user", uuid=asked, isReplay=True, message={"content": ""})
say(type="user", message={"content": [result]})
say(type="result", subtype="success", result="done", user_message_uuid=asked)
sys.stdin.read()
"""


class _FirstWord:
    """A job's log that only notes when the agent first said something."""

    at = 0.0

    def write(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:  # noqa: ARG002 - the log's shape
        self.at = self.at or time.perf_counter()

    def close(self) -> None:
        pass


async def agent_rows(directory: Path) -> list[Row | NotMeasured]:
    rows: list[Row | NotMeasured] = [await second_turn_row(directory / "talk"), await spawn_row(directory / "spawn")]
    rows.append(stream_row(directory / "stream.jsonl"))
    rows.append(await long_line_row(directory / "long"))
    rows.append(await cancel_row(directory / "deaf"))
    return rows


def _program(directory: Path, text: str) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "claude"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def make_invocation(directory: Path, number: int, *, prompt: str = "hello", resume: str | None = None) -> Invocation:
    return Invocation(
        job_id=JobId(f"job_{number}"),
        session_key=SessionKeyText("bench"),
        generation=0,
        project_name="bench",
        project_path=str(directory),
        workspace_path=str(directory),
        prompt=prompt,
        mark=f"bench{os.getpid()}:job_{number}",
        resume_key=ResumeKey(resume) if resume is not None else None,
    )


# --- the second turn of a session, with the real CLI


def find_claude() -> str | None:
    """On PATH, or where the agent tests keep it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairlead" / "agents"
    cached = sorted(cache.glob("*/node_modules/.bin/claude"))
    return shutil.which("claude") or (str(cached[-1]) if cached else None)


async def second_turn_row(home: Path) -> Row | NotMeasured:
    """The floor is the same turn of the same runtime with a process of its own. A first turn goes before each."""
    name, claude = "second turn, claude long-lived", find_claude()
    if claude is None:
        return NotMeasured(name, "run make test-agents first")
    make_private_directory(home)
    async with model_on_loopback() as url:
        env = _claude_environment(home, claude, url)
        kept = await _later_turns(home, ClaudeSettings(command=claude), env)
        new_process = await _later_turns(home, ClaudeSettings(command=claude, multi_turn=False), env)
    reach, floor_name = "≥ 5x faster", "the same turn one-shot"
    return Row(
        name=name,
        measured=kept * 1e3,
        floor=new_process * 1e3,
        floor_name=floor_name,
        unit="ms",
        reach=reach,
        reached=kept * 5 <= new_process,
    )


def _claude_environment(home: Path, claude: str, url: str) -> dict[str, str]:
    return {
        "PATH": f"{Path(claude).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TERM": "dumb",
        "ANTHROPIC_API_KEY": "made-up-key-for-loopback",
        "ANTHROPIC_BASE_URL": url,
        "HTTPS_PROXY": url,  # a request that would leave loopback fails
        "NO_PROXY": "127.0.0.1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }


async def _later_turns(home: Path, settings: ClaudeSettings, env: Mapping[str, str]) -> float:
    runtime = ClaudeRuntime(settings, env, lambda _: _FirstWord())
    try:
        _, key = await _turn(runtime, make_invocation(home, 0))
        taken = [(await _turn(runtime, make_invocation(home, n, resume=key)))[0] for n in range(1, TURNS + 1)]
    finally:
        await runtime.aclose()
    return statistics.median(taken)


async def _turn(runtime: ClaudeRuntime, invocation: Invocation) -> tuple[float, str]:
    """How long the turn took, and its resume key."""
    began, key, last = time.perf_counter(), invocation.resume_key or "", None
    async with aclosing(runtime.invoke(invocation)) as events:
        async for event in events:
            if isinstance(event, ResumeKeyFound):
                key = event.key
            if isinstance(event, TurnEnded):
                return time.perf_counter() - began, key
            last = event
    raise RuntimeError(f"claude did not answer: {last}")


# --- from an accepted message to the agent's process


async def spawn_row(home: Path) -> Row:
    """From the moment the message is acknowledged, through scheduler, turn and runtime, to the agent's own clock."""
    agent = Punctual(home)
    ours: list[float] = []
    bare: list[float] = []
    async with daemon_with(home, {"gemini_command": str(agent.program)}) as daemon:
        for number in range(SPAWNS):
            await asyncio.sleep(_REST)
            accepted = await submit_message(daemon, number, "gemini")
            await until_all_ended(daemon)
            ours.append(agent.moments()[2 * number] - accepted)
            await asyncio.sleep(_REST)
            began = time.time()
            await agent.spawn_bare({"PATH": "/usr/bin:/bin"})
            bare.append(agent.moments()[2 * number + 1] - began)
    measured, floor = statistics.median(ours) * 1e3, statistics.median(bare) * 1e3
    floor_name = "bare spawn of the same"
    return at_most("job accepted → CLI runs", measured, floor, floor_name=floor_name, unit="ms", factor=1.3)


async def until_all_ended(daemon: Daemon) -> None:
    state = daemon.flow.ledger.state
    while state.running or state.ready:
        await daemon.flow.ledger.until_changed(state.seq)


async def until_at_rest(daemon: Daemon) -> None:
    """The files of the last turn are looked at a moment after its answer, and the next turn would wait for that."""
    await until_all_ended(daemon)
    state = daemon.flow.ledger.state
    while state.open_trees:
        await daemon.flow.ledger.until_changed(state.seq)
    await daemon.flow.ledger.until_all_durable()


async def submit_message(daemon: Daemon, number: int, tool: str) -> float:
    """When a message was acknowledged."""
    conversation = ConversationRef("bench", "fairlead", "local")
    key = user_key(agent_id="fairlead", user_id="local")
    await daemon.flow.gate.submit(
        Inbound(
            conversation=conversation,
            session_key=key,
            message_id=MessageId(f"m{number}"),
            person="local",
            text="hello",
            pre_authorised=True,
            runtime=tool,
        )
    )
    return time.time()


# --- what it prints


def stream_row(path: Path) -> Row:
    """Both read the same file line by line; the floor decodes each line into the same typed events, and no more."""
    make_private_directory(path.parent)
    write_stream(path, STREAM_BYTES)
    forget_earlier_rows()

    def translate() -> int:
        feed = ClaudeTranslator(KEY).feed
        with path.open("rb") as file:
            return sum(len(feed(line)) for line in file)

    def decode_only() -> None:
        decode = wire.decoder.decode
        with path.open("rb") as file:
            for line in file:
                decode(line)

    count = translate()
    measured, floor = side_by_side(lambda: seconds(translate), lambda: seconds(decode_only), 5)
    name, floor_name = "engine events from 100 MB of stream-json", "msgspec decoding the same lines"
    return Row(
        name=name,
        measured=count / measured,
        floor=count / floor,
        floor_name=floor_name,
        unit="/s",
        reach="≥ 0.5x",
        reached=measured <= floor * 2,
    )


# --- how much it holds


async def long_line_row(home: Path) -> Row:
    """The most the daemon ever held, before the job and after it."""
    program = _program(home, _LONG % LONG_LINE)
    make_private_directory(home / "project")
    with DaemonProcess(home, home / "state", {"CLAUDE_COMMAND": program, "PROJECTS": f'["{home}/project"]'}) as daemon:
        address = (home / "state" / "http-address").read_text().strip()
        idle = daemon.peak_rss_kib()
        async with Client(address, read_or_make_token(home / "state")) as client:
            accepted = await client.submit("bench", "hello", tool="claude")
            ends = [event async for event in client.events(accepted.job_id) if isinstance(event, Done | Failed)]
        assert isinstance(ends[-1], Done), ends
        peak = daemon.peak_rss_kib()
    most = idle * 1024 + 4 * LONG_LINE
    name = "daemon's peak, a line of 25 MB"
    return Row(
        name=name,
        measured=peak / 1024,
        floor=idle / 1024,
        floor_name="idle",
        unit="MiB",
        reach="≤ + 100 MB",
        reached=peak * 1024 <= most,
    )


# --- being rid of it


async def cancel_row(home: Path) -> Row:
    """Until no process that carries the job's mark is found, though the agent heeds neither pipe nor signal."""
    program = _program(home, _DEAF)
    async with daemon_with(home, {"claude_command": program}) as daemon:
        taken = max([await _cancel_running_job(daemon, n) for n in range(3)])
    return Row(
        name="cancel → no process of the job left",
        measured=taken,
        floor=None,
        floor_name="none",
        unit="s",
        reach="≤ 2 s",
        reached=taken <= 2,
    )


@asynccontextmanager
async def daemon_with(home: Path, commands: Mapping[str, Any]) -> AsyncGenerator[Daemon]:
    changed: dict[str, Any] = {"state_dir": home / "state", "log_dir": home / "logs", "http": False, "projects": ()}
    settings = load_settings().replace(**changed, **commands)
    async with run_daemon(settings) as daemon:
        project = str(home / "project")  # beside the state: a project that holds the state is refused
        make_private_directory(home / "project")
        await daemon.flow.ledger.record_durably(AddProject(DirectoryFacts(project, project)))
        yield daemon


async def _cancel_running_job(daemon: Daemon, number: int) -> float:
    await submit_message(daemon, number, "claude")
    state = daemon.flow.ledger.state
    while not state.running:
        await daemon.flow.ledger.until_changed(state.seq)
    job_id = next(iter(state.running))
    mark = f"{state.state_id}:{job_id}"
    while len(await asyncio.to_thread(_alive, mark)) < 3:  # noqa: ASYNC110 - processes announce nothing
        await asyncio.sleep(0.01)
    began = time.perf_counter()
    daemon.flow.scheduler.cancel(job_id, "local")
    while await asyncio.to_thread(_alive, mark):  # noqa: ASYNC110 - processes announce nothing
        await asyncio.sleep(0.01)
    taken = time.perf_counter() - began
    await until_all_ended(daemon)
    return taken


def _alive(mark: str) -> list[int]:
    return [seen.pid for seen in system_table().scan() if seen.mark == mark]
