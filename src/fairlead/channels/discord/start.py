"""`/start`: a message that opens, a session that is named after it, a thread that grows from it. Never an orphan.

The thread has its opening message's id, so the session can be written down before the thread exists; asking for the
thread a second time answers that it is there, which is as good.
"""

from datetime import timedelta
from typing import Any, Final

import discord
from discord.utils import snowflake_time, utcnow

from fairlead.channels.discord.calls import CONDITIONS, THREAD_EXISTS, Calls, code_behind
from fairlead.channels.discord.conversations import CHANNEL, Places
from fairlead.channels.discord.echoes import Echoes
from fairlead.channels.discord.governor import Urgency
from fairlead.core.replies import SessionStarted
from fairlead.core.requests import Caller, Start
from fairlead.core.state import Project, State
from fairlead.errors import Code, FairleadError, error
from fairlead.observe import log
from fairlead.ports import DeliveryImpossible, Gate, View
from fairlead.render.neutral import one_line

_TRIES: Final = 3
_THREAD_NAME: Final = 100
_ARCHIVE_AFTER_MIN: Final = 10080
_FINISH_WITHIN: Final = timedelta(days=1)


class Starter:
    def __init__(self, gate: Gate, view: View, calls: Calls, echoes: Echoes, places: Places) -> None:
        self._gate = gate
        self._view = view
        self._calls = calls
        self._echoes = echoes
        self._places = places

    async def start(
        self, caller: Caller, *, guild_id: int, channel_id: int, project: str, mark: str
    ) -> tuple[SessionStarted, int]:
        """The session and its thread. `mark` is the same however often this very command is tried."""
        chosen = self._project(project)
        opening = await self._open(channel_id, f"**{chosen.name}** · {chosen.default_tool}\n-# {chosen.path}", mark)
        place = self._places.thread(guild_id, opening, channel_id)
        try:
            reply = await self._gate.command(Start(place.session_key, place.conversation, chosen.name), caller)
        except FairleadError:
            await self._take_back(channel_id, opening)
            raise
        assert isinstance(reply, SessionStarted)
        await self._grow(channel_id, opening, f"{chosen.name} · {utcnow():%m-%d %H:%M}")
        return reply, opening

    def _project(self, name: str) -> Project:
        """Looked up first: a start that fails leaves nothing behind."""
        project = self._view.state.project_named(name)
        if project is None:
            raise error(Code.E_PROJECT_NOT_FOUND, f"There is no project {one_line(name, 60)!r}.")
        if project.disabled:
            raise error(Code.E_INVALID_PATH, f"Project {project.name} is disabled: {project.disabled}")
        return project

    async def _open(self, channel_id: int, text: str, mark: str) -> int:
        nonce = self._echoes.nonce(f"start {mark}")
        tried: BaseException | None = None
        for _ in range(_TRIES):
            echoed = self._echoes.message_with(nonce)
            if echoed is not None:
                return int(echoed)
            try:
                message = await self._calls.make(
                    Urgency.ANSWER, lambda client: client.get_partial_messageable(channel_id).send(text, nonce=nonce)
                )
            except DeliveryImpossible as never:
                raise error(Code.E_THREAD_ACCESS_FAILED, never.reason) from never
            except CONDITIONS as condition:
                tried = condition
            else:
                return message.id
        raise error(Code.E_THREAD_ACCESS_FAILED, f"Discord took no message here: {tried!r}") from tried

    async def _take_back(self, channel_id: int, message_id: int) -> None:
        try:
            await self._calls.make(
                Urgency.ANSWER, lambda client: client.http.delete_message(channel_id, message_id, reason=None)
            )
        except CONDITIONS as condition:
            log.info("an opening message stayed", message_id=str(message_id), message=repr(condition))

    async def _grow(self, channel_id: int, message_id: int, name: str) -> None:
        tried: BaseException | None = None
        for _ in range(_TRIES):
            try:
                await self._calls.make(
                    Urgency.ANSWER, lambda client: _thread_from(client, channel_id, message_id, name)
                )
            except CONDITIONS as condition:
                if code_behind(condition) == THREAD_EXISTS:
                    return
                tried = condition
                if isinstance(condition, DeliveryImpossible):
                    break
            else:
                return
        raise error(Code.E_THREAD_ACCESS_FAILED, f"The thread could not be made: {tried!r}") from tried

    async def finish(self, state: State) -> None:
        """After a crash in the middle: sessions that were written down and whose threads may be missing."""
        for session in list(state.sessions.values()):
            place = session.conversation
            is_fresh = place.channel == CHANNEL and session.last_job_id is None and session.running_job_id is None
            if not is_fresh or place.parent_conversation_id is None or not place.conversation_id.isdecimal():
                continue
            thread_id = int(place.conversation_id)
            if utcnow() - snowflake_time(thread_id) > _FINISH_WITHIN:
                continue
            try:
                await self._grow(int(place.parent_conversation_id), thread_id, session.project)
            except FairleadError as fault:
                log.info("a session has no thread", session_key=session.session_key, message=fault.message)


async def _thread_from(client: discord.Client, channel_id: int, message_id: int, name: str) -> Any:
    return await client.http.start_thread_with_message(
        channel_id,
        message_id,
        name=one_line(name, _THREAD_NAME) or "session",
        auto_archive_duration=_ARCHIVE_AFTER_MIN,  # the longest there is: a week
    )
