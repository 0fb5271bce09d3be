"""The sessions of an ACP agent, as the agent itself lists and repeats them. It is started to be asked, and ended."""

import asyncio
import contextlib
import os
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from fairlead.core.agent_sessions import MOST_LISTED, ResumeCommand, SessionWriter, StoredSession
from fairlead.core.ids import ResumeKey
from fairlead.errors import Code, error
from fairlead.kit.process_details import look_at_processes
from fairlead.ports import SessionRecords
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.agent_turn import AgentLaunch
from fairlead.runtimes.acp.first_start import FirstStart
from fairlead.runtimes.acp.program import AgentProgram
from fairlead.runtimes.acp.quirks import PLAIN, Quirks, quirks_of
from fairlead.runtimes.acp.turn_ends import AgentGone, AgentRefused
from fairlead.runtimes.records.claude import ClaudeRecords
from fairlead.runtimes.records.codex import CodexRecords
from fairlead.runtimes.records.resume_command import make_resume_command
from fairlead.runtimes.records.session_logs import ExchangeCounter, moment_in

if TYPE_CHECKING:
    from fairlead.runtimes.acp.connection import AcpConnection

ASK_SEC: Final = 60.0
MOST_PAGES: Final = 5
_POSITION: Final = "exchanges:"
_FILES: Final[dict[str, type[ClaudeRecords | CodexRecords]]] = {"claude": ClaudeRecords, "codex": CodexRecords}


class HistoryReader:
    """Hears an agent that is asked about its sessions and nothing else. Allows nothing."""

    def __init__(self) -> None:
        self.agent = wire.Initialized()
        self.quirks: Quirks = PLAIN
        self.heard_at = 0.0
        self._said: list[tuple[str, str]] = []

    def hear_update(self, update: wire.Update, session_id: str) -> None:  # noqa: ARG002 - the port's names
        self.heard_at = asyncio.get_running_loop().time()
        match update:
            case wire.UserText():
                self._add("person", _text_in(update.content))
            case wire.AgentText():
                self._add("agent", _text_in(update.content))
            case wire.ToolCall():
                self._said.append(("tool", ""))  # what is said behind it is another message
            case _:
                pass

    def _add(self, who: str, text: str) -> None:
        """Chunks that follow one another are one message."""
        if self._said and self._said[-1][0] == who:
            text = self._said.pop()[1] + text
        self._said.append((who, text))

    def count(self, skipped: int) -> ExchangeCounter:
        """Without the first `skipped` exchanges."""
        counter = ExchangeCounter()
        passed = 0
        for who, text in self._said:
            if who == "person" and text.strip():
                passed += 1
                if passed > skipped:
                    counter.hear_person(text, "")
            elif who == "agent" and passed > skipped:
                counter.hear_agent(text)
        return counter

    def hear_withdrawal(self, request_id: str) -> None:
        """Nothing is asked of a person."""

    def hear_unknown_update(self, words: str) -> None:  # noqa: ARG002
        self.heard_at = asyncio.get_running_loop().time()

    def hear_oddity(self, words: str) -> None:
        """A list has no place for it."""

    def hear_lost_line(self, words: str) -> None:
        """A part of the history that is too long to be shown anyway."""

    async def respond_to_permission(self, params: Any) -> dict[str, Any]:  # noqa: ARG002
        return {"outcome": {"outcome": "cancelled"}}

    async def respond_to_form(self, params: Any) -> dict[str, Any]:  # noqa: ARG002
        return {"action": "cancel"}

    def note_initialized(self, agent: wire.Initialized) -> None:
        self.agent = agent
        self.quirks = quirks_of(agent.agent_info.name if agent.agent_info is not None else "")

    def note_end(self) -> None:
        """The request itself tells who asked."""


class AcpRecords:
    """ports.SessionRecords."""

    are_files = False

    def __init__(
        self,
        name: str,
        make_launch: Callable[[str], AgentLaunch],
        environment: Mapping[str, str],
        *,
        mark: str,
        first_start: FirstStart,
    ) -> None:
        self._name = name
        self._make_launch = make_launch
        self._environment = environment
        self._mark = mark
        self._first_start = first_start
        self._quirks: Quirks | None = None

    def learn(self, quirks: Quirks) -> None:
        """A process of this agent has said who it is."""
        self._quirks = quirks

    async def list_sessions(self, directory: str) -> tuple[StoredSession, ...]:
        """What the agent lists; and what stands in the files of Claude or Codex, if it runs one of these: the files
        tell how long a session is, and codex-acp does not list what `codex exec` has begun."""
        async with self._ask(directory) as (connection, reader):
            entries = await self._entries(connection, reader, directory)
        files = await self._files(directory)
        stored = await files.list_sessions(directory) if files is not None else ()
        found = {entry.session_id: _describe(entry) for entry in entries} | {one.key: one for one in stored}
        return tuple(sorted(found.values(), key=lambda one: one.changed_at, reverse=True)[:MOST_LISTED])

    async def read_session(self, directory: str, key: ResumeKey, since: str = "") -> StoredSession | None:
        files = None if since.startswith(_POSITION) else await self._files(directory)
        in_files = await files.read_session(directory, key, since) if files is not None else None
        return in_files or await self._read_from_agent(directory, key, since)

    async def _read_from_agent(self, directory: str, key: ResumeKey, since: str) -> StoredSession | None:
        async with self._ask(directory) as (connection, reader):
            entries = await self._entries(connection, reader, directory)
            entry = next((entry for entry in entries if entry.session_id == key), None)
            if entry is None:
                return None
            skipped = _number_in(since)
            counter = await self._load(connection, reader, directory, key, skipped)
        if counter is None:
            return _describe(entry)
        position = f"{_POSITION}{skipped + counter.count}"
        return _describe(entry, counter, position)

    async def find_writers(self, directory: str, key: ResumeKey) -> tuple[SessionWriter, ...]:
        """Agents that keep their sessions where Claude or Codex does are looked for there."""
        files = await self._files(directory)
        if files is not None:
            return await files.find_writers(directory, key)
        return await asyncio.to_thread(_find_by_argument, key)

    async def resume_command(self, directory: str, key: ResumeKey) -> ResumeCommand | None:
        quirks = await self._known_quirks(directory)
        if not quirks.resume_command:
            return None
        variables = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")
        return make_resume_command(directory, (*quirks.resume_command, key), self._environment, variables)

    # --- the agent -------------------------------------------------------------------------------------------------

    async def _files(self, directory: str) -> SessionRecords | None:
        """The records of the agent that this one runs, where those are files that Fairlead knows."""
        files = _FILES.get((await self._known_quirks(directory)).records)
        return None if files is None else files(self._environment)

    async def _known_quirks(self, directory: str) -> Quirks:
        if self._quirks is None:
            async with self._ask(directory) as (_, reader):
                self._quirks = reader.quirks
        return self._quirks

    @asynccontextmanager
    async def _ask(self, directory: str) -> AsyncGenerator[tuple["AcpConnection", HistoryReader]]:
        """Raises the FairleadError that says why the agent cannot be asked."""
        reader = HistoryReader()
        mark = f"{self._mark}:{self._name}:{secrets.token_hex(3)}"
        program = AgentProgram(
            self._make_launch(directory),
            mark=mark,
            owner=reader,
            tee=lambda _stream, _data: None,
            first_start=self._first_start,
        )
        program.start()
        try:
            async with asyncio.timeout(ASK_SEC):
                connection = await program.connect()
                self._quirks = reader.quirks
                yield connection, reader
        except AgentGone as gone:
            raise error(gone.failure.code, gone.failure.message) from None
        except AgentRefused as refusal:
            raise error(Code.E_AGENT_ERROR, refusal.words) from None
        except ConnectionError:
            raise error(Code.E_ACP_CONNECTION, "The agent's process has ended.") from None
        except TimeoutError:
            raise error(Code.E_ACP_TIMEOUT, f"The agent did not answer within {ASK_SEC:.0f} s.") from None
        finally:
            await program.end()

    async def _entries(
        self, connection: "AcpConnection", reader: HistoryReader, directory: str
    ) -> list[wire.SessionEntry]:
        if not reader.agent.lists_sessions:
            raise error(Code.E_SESSION_STATE, f"{self._name} does not offer a list of its sessions.")
        found: list[wire.SessionEntry] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await connection.list_sessions(directory, cursor)
            found += page.sessions or ()
            cursor = page.next_cursor
            if not cursor:
                break
        return sorted(
            [entry for entry in found if _is_of(entry, directory)],
            key=lambda entry: moment_in(entry.updated_at or ""),
            reverse=True,
        )

    async def _load(
        self, connection: "AcpConnection", reader: HistoryReader, directory: str, key: str, skipped: int
    ) -> ExchangeCounter | None:
        """What the agent repeats of the session; None if it repeats nothing."""
        capabilities = reader.agent.agent_capabilities
        if capabilities is None or not capabilities.load_session:
            return None
        loop = asyncio.get_running_loop()
        with contextlib.suppress(AgentRefused):
            await connection.load_session(directory, key)
            reader.heard_at = loop.time()
            settle = reader.quirks.settle_sec
            while (left := reader.heard_at + settle - loop.time()) > 0:  # noqa: ASYNC110 - a pause
                await asyncio.sleep(left)
            return reader.count(skipped)
        return None


def _is_of(entry: wire.SessionEntry, directory: str) -> bool:
    return not entry.cwd or os.path.realpath(entry.cwd) == os.path.realpath(directory)


def _describe(entry: wire.SessionEntry, counter: ExchangeCounter | None = None, position: str = "") -> StoredSession:
    """The agent's own list has no length; only a session that was loaded has one."""
    return StoredSession(
        key=ResumeKey(entry.session_id),
        first_words=entry.title or (counter.first_words if counter is not None else ""),
        changed_at=moment_in(entry.updated_at or ""),
        exchanges=counter.count if counter is not None else 0,
        has_more=counter is None,
        latest=counter.latest if counter is not None else (),
        position=position,
    )


def _number_in(position: str) -> int:
    number = position.removeprefix(_POSITION)
    return int(number) if position.startswith(_POSITION) and number.isascii() and number.isdecimal() else 0


def _text_in(content: object) -> str:
    match content:
        case wire.Content(text=str() as text):
            return text
        case {"type": "text", "text": str() as text}:
            return text
        case _:
            return ""


def _find_by_argument(key: str) -> tuple[SessionWriter, ...]:
    own = os.getpid()
    return tuple(
        SessionWriter(process.pid, process.words[:200])
        for process in look_at_processes()
        if process.pid != own and any(key in argument for argument in process.argv[1:])
    )
