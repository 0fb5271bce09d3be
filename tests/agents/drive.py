"""Runs a real CLI by hand, without any adapter, and reads what it prints. Judges nothing."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec

from .environment import GEMINI_MODEL, AgentName, agent_environment, prepare_home
from .model_server import ModelServer

Event = dict[str, Any]
LINE_LIMIT = 64 * 1024 * 1024
PATIENCE = 60  # seconds: a test that waits longer has failed


class Ran(msgspec.Struct, frozen=True):
    events: list[Event]
    stderr: str
    exit_code: int

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.get("type") == kind]


class Cli:
    """One CLI with its own home and project directory."""

    def __init__(self, name: AgentName, root: Path, server: ModelServer) -> None:
        self.name: AgentName = name
        self.project = root / "project"
        self.project.mkdir()
        prepare_home(name, root / "home", server)
        self.environment = agent_environment(name, root / "home", server)

    async def turn(self, prompt: str, *flags: str, resume: str | None = None) -> Ran:
        return await self.run(*turn_arguments(self.name, prompt, *flags, resume=resume))

    async def run(self, *arguments: str) -> Ran:
        async with self.start(*arguments) as process, asyncio.timeout(PATIENCE):
            assert process.stdin is not None
            process.stdin.close()
            stdout, stderr = await process.communicate()
        events = [json.loads(line) for line in stdout.splitlines() if line.startswith(b"{")]
        return Ran(events, stderr.decode(), process.returncode or 0)

    @contextlib.asynccontextmanager
    async def start(self, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *(self.name, *arguments),
            cwd=self.project,
            env=self.environment,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=LINE_LIMIT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    @contextlib.asynccontextmanager
    async def agent_session(self, *flags: str) -> AsyncIterator["AgentSession"]:
        """A long-lived claude that asks for permission over its pipes."""
        streams = ("--input-format", "stream-json", "--output-format", "stream-json")
        asking = ("--permission-prompt-tool", "stdio", "--replay-user-messages")
        async with self.start("-p", "--verbose", *streams, *asking, *flags) as process:
            yield AgentSession(process)


class AgentSession:
    """Both directions of a long-lived claude."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.events: list[Event] = []

    async def send(self, message: Event) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(message) + b"\n")
        await self.process.stdin.drain()

    async def say(self, content: str | list[Event], **more: Any) -> None:
        await self.send({"type": "user", "message": {"role": "user", "content": content}, **more})

    async def answer(self, request: Event, response: Event) -> None:
        done = {"subtype": "success", "request_id": request["request_id"], "response": response}
        await self.send({"type": "control_response", "response": done})

    async def until(self, kind: str, holds: Callable[[Event], bool] = lambda _: True) -> Event:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := await self.process.stdout.readline():
                event = json.loads(line)
                self.events.append(event)
                if event.get("type") == kind and holds(event):
                    return event
        raise AssertionError(f"the process ended without {kind!r}; it said {[e.get('type') for e in self.events]}")

    async def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(PATIENCE):
            await self.process.communicate()
        return self.process.returncode or 0


def turn_arguments(name: AgentName, prompt: str, *flags: str, resume: str | None = None) -> list[str]:
    match name:
        case "claude":
            resumed = ["--resume", resume] if resume else []
            return ["-p", "--verbose", "--output-format", "stream-json", *resumed, *flags, "--", prompt]
        case "codex":
            resumed = ["resume", resume] if resume else []
            return ["exec", "--json", "--skip-git-repo-check", *flags, *resumed, "--", prompt]
        case "gemini":
            resumed = ["--resume", resume] if resume else []
            base = ["--skip-trust", "-m", GEMINI_MODEL, "--output-format", "stream-json"]
            return [*base, *resumed, *flags, f"--prompt={prompt}"]


def session_of(name: AgentName, ran: Ran) -> str:
    match name:
        case "claude":
            return ran.of("result")[-1]["session_id"]
        case "codex":
            return ran.of("thread.started")[0]["thread_id"]
        case "gemini":
            return ran.of("init")[0]["session_id"]


def answer_of(name: AgentName, ran: Ran) -> str:
    """The agent's last words."""
    match name:
        case "claude":
            return ran.of("result")[-1]["result"]
        case "codex":
            items = [event["item"] for event in ran.of("item.completed")]
            return [item["text"] for item in items if item["type"] == "agent_message"][-1]
        case "gemini":
            said = (event for event in ran.of("message") if event["role"] == "assistant")
            return "".join(event["content"] for event in said)
