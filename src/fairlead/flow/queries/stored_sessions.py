"""The sessions in the agents' own records, as seen from one session of Fairlead: in its directory, of its agents, each
with the session that goes on with it already. Reads, and decides nothing."""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from fairlead.core.agent_sessions import MOST_LISTED, StoredSession
from fairlead.core.decide.agent_sessions import session_with_key
from fairlead.core.decide.enabled_agents import find_agent_problem
from fairlead.core.decide.projects import project_to_work_in, runtime_to_keep
from fairlead.core.replies import StoredSessionCatalogue, StoredSessionRow
from fairlead.core.requests import Caller
from fairlead.core.state import Project, Session
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.ledger import Ledger
from fairlead.observe import log_failure
from fairlead.ports import NO_RECORDS, Runtime
from fairlead.render.safe_text import one_line

FRESH_SEC: Final = 5.0
_FIRST_WORDS: Final = 120


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a caller's session works, and with which agents; `session` is None before its first message. `runtime` is
    the agent that it has or would have."""

    session: Session | None
    project: Project
    directory: str
    runtime: str


class StoredSessions:
    def __init__(self, ledger: Ledger, runtimes: Mapping[str, Runtime]) -> None:
        self._ledger = ledger
        self._runtimes = runtimes
        self._choices: dict[str, tuple[StoredSessionRow, ...]] = {}
        self._chosen_at: dict[str, float] = {}
        self._wanted: asyncio.Queue[Place] = asyncio.Queue()

    def place_of(self, caller: Caller) -> Place:
        """Raises the FairleadError that says why the caller has no project to work in."""
        state = self._ledger.state
        session = state.session_for(caller.conversation, caller.session_key, self._ledger.now())
        project = project_to_work_in(state, session=session, person=caller.person, asked_for=None)
        if isinstance(project, FairleadError):
            raise project
        runtime = runtime_to_keep(session, project)
        key = caller.session_key.text if session is None else session.session_key
        return Place(session=session, project=project, directory=state.directory_of(key, project), runtime=runtime)

    async def list_all(self, place: Place, tool: str = "") -> StoredSessionCatalogue:
        """Of all agents of the project whose records are files, and of the session's own agent, which may have to be
        started for that; with `tool`, of this one alone."""
        rows: list[StoredSessionRow] = []
        unlisted: dict[str, str] = {}
        for name in self.agents_of(place, tool):
            try:
                stored = await self._runtimes[name].records.list_sessions(place.directory)
            except FairleadError as problem:
                unlisted[name] = problem.message or str(problem.code)
                continue
            known = {row.key for row in rows}
            rows += [self.describe(one, name, place) for one in stored if one.key not in known]
        rows.sort(key=lambda row: row.changed_at, reverse=True)
        return StoredSessionCatalogue(place.directory, tuple(rows[:MOST_LISTED]), unlisted)

    def agents_of(self, place: Place, tool: str = "") -> list[str]:
        """The agents whose records are looked into, the session's own first. Raises E_TOOL_NOT_ENABLED."""
        there = [name for name in self._ledger.limits.runtimes if name in place.project.enabled_runtimes]
        if tool and tool not in there:
            not_there = error(Code.E_TOOL_NOT_ENABLED, f"{tool[:40]!r} is not enabled in {place.project.name}.")
            raise find_agent_problem(self._ledger.state, tool, place.project) or not_there
        others = (name for name in there if self._runtimes[name].records.are_files)
        wanted = [tool] if tool else dict.fromkeys([*(n for n in there if n == place.runtime), *others])
        return [name for name in wanted if self._runtimes[name].records is not NO_RECORDS]

    def describe(self, stored: StoredSession, tool: str, place: Place) -> StoredSessionRow:
        bound = session_with_key(self._ledger.state, stored.key)
        return StoredSessionRow(
            key=stored.key,
            tool=tool,
            first_words=one_line(stored.first_words, _FIRST_WORDS),
            began_at=stored.began_at,
            changed_at=stored.changed_at,
            exchanges=stored.exchanges,
            has_more=stored.has_more,
            session_id=bound.session_id if bound is not None else "",
            here=bound is not None and bound is place.session,
        )

    # --- completion ------------------------------------------------------------------------------------------------

    def choices(self, caller: Caller) -> tuple[StoredSessionRow, ...]:
        """What was found last, at once; a look that is not fresh is taken again, for the next key that is typed."""
        try:
            place = self.place_of(caller)
        except FairleadError:
            return ()
        now = asyncio.get_running_loop().time()
        if now - self._chosen_at.get(place.directory, -FRESH_SEC) >= FRESH_SEC:
            self._chosen_at[place.directory] = now
            self._wanted.put_nowait(place)
        return self._choices.get(place.directory, ())

    def remember(self, catalogue: StoredSessionCatalogue) -> None:
        """A person has just been shown this list, and will choose from it."""
        self._choices[catalogue.directory] = catalogue.sessions
        self._chosen_at[catalogue.directory] = asyncio.get_running_loop().time()

    async def keep_choices(self) -> None:
        """For ever: look where somebody types."""
        while True:
            place = await self._wanted.get()
            try:
                files = [n for n in self.agents_of(place) if self._runtimes[n].records.are_files]
                found = [await self.list_all(place, name) for name in files]
            except Exception as fault:  # a record that breaks the look costs a completion, and nothing else
                log_failure("no completion of an agent's sessions", fault, directory=place.directory)
                continue
            rows = sorted((row for one in found for row in one.sessions), key=lambda r: r.changed_at, reverse=True)
            self._choices[place.directory] = tuple(rows[:MOST_LISTED])
