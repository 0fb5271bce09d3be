"""Starting a session for a task, for a person or for an agent. The completion comes back by itself: the outbox brings
it to people, `ChildReturns` to the session whose agent asked."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from fairlead.core import message_ids
from fairlead.core.decide.agent_calls import find_person
from fairlead.core.decide.rules import may_rely_on_rules
from fairlead.core.decide.spawns import SpawnSession
from fairlead.core.ids import NO_SESSION, JobId, SessionKeyText
from fairlead.core.replies import Spawned
from fairlead.core.requests import Caller
from fairlead.core.state import Session, State
from fairlead.errors import Code, error
from fairlead.flow.ledger import Ledger
from fairlead.flow.spawns.thread_openings import ThreadOpenings
from fairlead.ports import Channel, History


class PersonAsks(msgspec.Struct, frozen=True):
    """A person who was let in, in a conversation that may have a session or none."""

    caller: Caller


class AgentAsks(msgspec.Struct, frozen=True):
    """The agent of a session, in its job `job_id`, on behalf of the person whose job that is."""

    session_key: SessionKeyText
    job_id: JobId


Asker: TypeAlias = PersonAsks | AgentAsks


class Spawning:
    def __init__(self, ledger: Ledger, history: History, channels: Mapping[str, Channel]) -> None:
        self._ledger = ledger
        self._channels = channels
        self._openings = ThreadOpenings(ledger, history, channels)

    async def spawn_session(
        self, asker: Asker, *, task: str, asked_by: str, project: str = "", agent: str = "", worktree: bool = False
    ) -> Spawned:
        """Start a session for `task`, in the asker's project and with its agent unless others are named. With
        `worktree` it gets a worktree of its own; else it works where the asker works.

        `asked_by` is the id of the request, the same however often it is tried: the task runs once. The reply says
        where the completion goes (`returns`): "thread", "person" or "session"; with "session" it comes as an ordinary
        message with the cause "child" into the session that asked, which may end its turn and holds no slot meanwhile.
        A person is answered when the thread is there, an agent at once: `session_id` is empty where the thread is still
        being made. Raises E_SPAWN_DEPTH, E_SPAWN_LIMIT, and what a message there would be refused with."""
        self._ledger.check_disk_space()
        command = self._command(asker, task, asked_by)
        command = msgspec.structs.replace(command, project=project or None, runtime=agent or None, worktree=worktree)
        decision = await self._ledger.record_durably(command)
        if decision.entry_id and isinstance(asker, PersonAsks):
            await self._openings.wait_for(decision.entry_id)
        return self._reply(asked_by)

    def _command(self, asker: Asker, task: str, asked_by: str) -> SpawnSession:
        state = self._ledger.state
        match asker:
            case PersonAsks(caller):
                session = state.session_for(caller.conversation, caller.session_key, self._ledger.now())
                return SpawnSession(
                    asked_by=asked_by,
                    task=task,
                    person=caller.person,
                    parent=caller.session_key.text if session is None else session.session_key,
                    conversation=caller.conversation,
                    session_key=caller.session_key,
                    has_threads=self._has_threads(caller.conversation.channel),
                )
            case AgentAsks(session_key, job_id):
                session, job = _session_of(state, session_key), state.jobs.get(job_id)
                if job is None or job.session_key != session_key:
                    raise error(Code.E_JOB_NOT_FOUND, f"{job_id} is no job of this session.")
                return SpawnSession(
                    asked_by=asked_by,
                    task=task,
                    person=find_person(state, job),
                    parent=session_key,
                    conversation=session.conversation,
                    session_key=session.key,
                    by_agent=True,
                    foreign=not may_rely_on_rules(job),
                    has_threads=self._has_threads(session.conversation.channel),
                )

    def _has_threads(self, channel: str) -> bool:
        there = self._channels.get(channel)
        return there is not None and there.capabilities.threads

    def _reply(self, asked_by: str) -> Spawned:
        """A session whose thread is still being made has no name yet."""
        state = self._ledger.state
        key = state.spawn_requests.get(asked_by, NO_SESSION)
        session, spawned = state.sessions.get(key), state.spawns.get(key)
        if session is None or spawned is None:
            return Spawned(returns="thread")
        job = state.job_of(session.conversation, message_ids.spawn_id(asked_by))
        return Spawned(
            returns=spawned.returns,
            session_key=session.session_key,
            session_id=session.session_id,
            project=session.project,
            tool=session.runtime,
            job_id="" if job is None else job.job_id,
        )


def _session_of(state: State, session_key: SessionKeyText) -> Session:
    session = state.sessions.get(session_key)
    if session is None:
        raise error(Code.E_SESSION_NOT_FOUND)
    return session
