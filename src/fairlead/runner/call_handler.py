"""Handles the calls of the daemon about this machine: its agents, their stored sessions, its directories."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import msgspec

from fairlead.core.engine import AgentInstruction, InputFile, Steer
from fairlead.core.ids import ResumeKey
from fairlead.core.machines.messages import SentFile
from fairlead.errors import Code, error
from fairlead.ports import Directories, Runtime
from fairlead.runner.runtimes import RunnerRuntimes
from fairlead.runtime_ports import SessionRecords

Handler = Callable[[dict[str, Any]], Awaitable[Any]]


class SessionInbox(Protocol):
    async def lay_out(self, files: Sequence[SentFile], *, session_key: str, job_id: str) -> tuple[InputFile, ...]: ...


class RealCallHandler:
    """runner.runner.CallHandler."""

    def __init__(self, runtimes: RunnerRuntimes, directories: Directories, inbox: SessionInbox | None = None) -> None:
        self._runtimes = runtimes
        self._directories = directories
        self._inbox = inbox
        self._handlers: dict[str, Handler] = {
            "check": self._check,
            "instruct": self._instruct,
            "steer": self._steer,
            "records.list_sessions": self._list_sessions,
            "records.read_session": self._read_session,
            "records.find_writers": self._find_writers,
            "records.resume_command": self._resume_command,
            "directories.inspect": self._inspect,
            "directories.subdirectories": self._subdirectories,
            "directories.files_below": self._files_below,
        }

    async def handle(self, name: str, args: dict[str, Any]) -> Any:
        handler = self._handlers.get(name)
        if handler is None:
            raise error(Code.E_RUNNER_OLD, f"This runner does not know {name}.")
        return await handler(args)

    def _runtime(self, args: dict[str, Any]) -> Runtime:
        runtime = self._runtimes.find(args["agent"], args.get("session_key", ""))
        if runtime is None:
            raise error(Code.E_TOOL_NOT_ENABLED, f"{args['agent']} is not on this machine.")
        return runtime

    def _records(self, args: dict[str, Any]) -> SessionRecords:
        return self._runtime(args).records

    async def _check(self, args: dict[str, Any]) -> Any:
        return await self._runtime(args).check()

    async def _instruct(self, args: dict[str, Any]) -> None:
        instruction = msgspec.convert(args["instruction"], AgentInstruction)
        await self._runtime(args).instruct(args["session_key"], instruction)

    async def _steer(self, args: dict[str, Any]) -> Any:
        steer, key = msgspec.convert(args["steer"], Steer), args["session_key"]
        sent = msgspec.convert(args.get("files", ()), tuple[SentFile, ...])
        if sent and self._inbox is not None:
            files = await self._inbox.lay_out(sent, session_key=key, job_id=steer.job_id)
            steer = msgspec.structs.replace(steer, files=files)
        return await self._runtime(args).steer(key, steer)

    async def _list_sessions(self, args: dict[str, Any]) -> Any:
        return await self._records(args).list_sessions(args["directory"])

    async def _read_session(self, args: dict[str, Any]) -> Any:
        return await self._records(args).read_session(args["directory"], ResumeKey(args["key"]), args["since"])

    async def _find_writers(self, args: dict[str, Any]) -> Any:
        return await self._records(args).find_writers(args["directory"], ResumeKey(args["key"]))

    async def _resume_command(self, args: dict[str, Any]) -> Any:
        return await self._records(args).resume_command(args["directory"], ResumeKey(args["key"]))

    async def _inspect(self, args: dict[str, Any]) -> Any:
        return self._directories.inspect(args["path"])

    async def _subdirectories(self, args: dict[str, Any]) -> Any:
        return self._directories.subdirectories(args["path"])

    async def _files_below(self, args: dict[str, Any]) -> Any:
        return await self._directories.files_below(args["path"], args["typed"])
