"""The one session of an ACP agent: opened new, resumed or loaded; its model and its mode. Knows no process."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fairlead.core.engine import EngineEvent, ForkOrigin, Noticed, ResumeKeyFound, TurnFailed
from fairlead.errors import Code, error
from fairlead.runtimes.acp import turn_ends, wire
from fairlead.runtimes.acp.quirks import PLAIN
from fairlead.runtimes.acp.translate import UpdateTranslator
from fairlead.runtimes.acp.turn_ends import METHOD_NOT_FOUND, AgentGone, AgentRefused
from fairlead.runtimes.tool_server import ToolGrant

if TYPE_CHECKING:
    from fairlead.runtimes.acp.connection import AcpConnection

OPEN_SEC: Final = 180.0
REPLAY_SEC: Final = 10.0
_MINUTE: Final = "%Y-%m-%dT%H-%M"


class AgentSession:
    """`ConnectionError` passes through every method: the process knows why there is no agent any more."""

    def __init__(
        self,
        argv: tuple[str, ...],
        cwd: str,
        env: Mapping[str, str],
        *,
        known_totals: turn_ends.KnownTotals | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        grant: ToolGrant | None = None,
    ) -> None:
        self._grant = grant
        self.session_id = ""
        self.translator = UpdateTranslator()
        self.totals = turn_ends.Totals()
        self._known_totals = known_totals or turn_ends.KnownTotals()
        self.agent = wire.Initialized()
        self.quirks = PLAIN
        self.last_update_at = 0.0
        self._has_updated = asyncio.Event()
        self._offers: list[EngineEvent] = []
        self._argv = argv
        self._cwd = cwd
        self._home = Path(env.get("HOME", "/"))
        self._now = now

    @property
    def prompt_capabilities(self) -> wire.PromptCapabilities:
        return self._can.prompt_capabilities or wire.PromptCapabilities()

    @property
    def _can(self) -> wire.AgentCapabilities:
        return self.agent.agent_capabilities or wire.AgentCapabilities()

    def note_update(self) -> None:
        self.last_update_at = asyncio.get_running_loop().time()
        self._has_updated.set()

    # --- opening ---------------------------------------------------------------------------------------------------

    async def open(self, connection: "AcpConnection", resume_key: str | None, fork: ForkOrigin | None = None) -> None:
        """Nothing happens if it is open. Without a resume key it is a new one, which begins as the `fork`, if there is
        one. Raises AgentGone if it cannot be opened."""
        if self.session_id:
            return
        asked_for = resume_key or (fork.key if fork is not None else None)
        try:
            async with asyncio.timeout(OPEN_SEC):
                opened = await self._open(connection, resume_key, fork)
        except TimeoutError:
            words = f"The agent did not open its session within {OPEN_SEC:.0f} s."
            raise AgentGone(TurnFailed(Code.E_ACP_TIMEOUT, words)) from None
        except AgentRefused as refusal:
            raise AgentGone(turn_ends.refused_session(refusal, self.agent, self._argv, asked_for)) from None
        self.session_id = opened.session_id or resume_key or ""
        if not self.session_id:
            raise AgentGone(TurnFailed(Code.E_ADAPTER_SESSION_KEY_MISSING, "The agent did not report a session id."))
        known = self._known_totals
        self.totals = known.resume(self.session_id, self.quirks) if asked_for else known.begin(self.session_id)
        self._offers = [ResumeKeyFound(self.session_id), *self.translator.note_session(opened)]

    def take_offers(self) -> list[EngineEvent]:
        """The session's name and what the agent offers in it, for the first turn: the session may be opened before."""
        offers, self._offers = self._offers, []
        return offers

    async def _open(
        self, connection: "AcpConnection", resume_key: str | None, fork: ForkOrigin | None
    ) -> wire.SessionOpened:
        if resume_key:
            return await self._resume(connection, resume_key)
        if fork is None:
            return await connection.new_session(self._cwd, self._grant)
        if not self.agent.forks:
            raise AgentGone(TurnFailed(Code.E_FORK_UNAVAILABLE, "This agent cannot begin with a copy of another talk."))
        at_message = self.quirks.forks_at_message
        opened = await connection.fork_session(self._cwd, fork, self._grant, at_message=at_message)
        if opened.session_id in {"", fork.key}:  # to go on with that one would change the other talk
            words = "The agent did not make a copy of the talk: it named no session of its own."
            raise AgentGone(TurnFailed(Code.E_ADAPTER_SESSION_KEY_MISSING, words))
        return opened

    async def _resume(self, connection: "AcpConnection", key: str) -> wire.SessionOpened:
        """By `resume` where the agent offers it, else by `load`, which repeats the history."""
        capabilities = self._can.session_capabilities
        if capabilities is not None and capabilities.resume is not None:
            try:
                return await connection.resume_session(self._cwd, key, self._grant)
            except AgentRefused as refusal:
                if refusal.code != METHOD_NOT_FOUND or not self._can.load_session:
                    raise
        if not self._can.load_session:
            raise AgentGone(TurnFailed(Code.E_RESUME_GONE, "This agent cannot resume an earlier session."))
        await self._until_loadable(key)
        self._has_updated.clear()
        opened = await connection.load_session(self._cwd, key, self._grant)
        await self._until_silent()
        return opened

    async def _until_loadable(self, key: str) -> None:
        """See `Quirks.session_of_this_minute`."""
        while pattern := self.quirks.session_of_this_minute:
            now = self._now()
            name = pattern.format(minute=now.strftime(_MINUTE), id=key[:8])
            if not await asyncio.to_thread(self._is_there, name):
                return
            await asyncio.sleep(60.0 - now.second - now.microsecond / 1e6)

    def _is_there(self, pattern: str) -> bool:
        return any(self._home.glob(pattern))

    async def _until_silent(self) -> None:
        """See `Quirks.settle_sec`: the history that an agent repeats must not become an answer."""
        if self.quirks.replays_after_loading:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REPLAY_SEC):
                    await self._has_updated.wait()
        self.note_update()
        loop = asyncio.get_running_loop()
        while (left := self.last_update_at + self.quirks.settle_sec - loop.time()) > 0:  # noqa: ASYNC110 - a pause
            await asyncio.sleep(left)

    # --- model and mode --------------------------------------------------------------------------------------------

    async def choose(self, connection: "AcpConnection", model: str, mode: str) -> list[EngineEvent]:
        """Raises E_MODEL_UNAVAILABLE, because another model may cost more. A mode that the agent does not have is told
        to the person instead, and so is a model or a mode for an agent that knows no choice: no other would help."""
        facts = self.translator.facts
        events: list[EngineEvent] = []
        if model and model != facts.model:
            own = Noticed(f"The agent offers no choice of models, so it does not use {model!r}.")
            applying = self._apply_model(connection, model)
            events += await _choose(applying, Code.E_MODEL_UNAVAILABLE, None if facts.models else own)
        if mode and mode != facts.mode:
            own = Noticed(f"The agent has no mode {mode!r}; it is in {facts.mode or 'its own'}.")
            if facts.modes and mode not in facts.modes:
                return [*events, own]
            applying = self._apply_mode(connection, mode)
            events += await _choose(applying, Code.E_MODE_UNAVAILABLE, None if facts.modes else own)
        return events

    async def set_model(self, connection: "AcpConnection", model: str) -> list[EngineEvent]:
        return await _choose(self._apply_model(connection, model), Code.E_MODEL_UNAVAILABLE)

    async def set_mode(self, connection: "AcpConnection", mode: str) -> list[EngineEvent]:
        return await _choose(self._apply_mode(connection, mode), Code.E_MODE_UNAVAILABLE)

    async def _apply_model(self, connection: "AcpConnection", model: str) -> list[EngineEvent]:
        facts = self.translator.facts
        wanted = facts.ids.get(model, model)
        if facts.model_option:
            changed = await connection.set_option(self.session_id, facts.model_option, wanted)
            facts.model = model
            return self.translator.note_options(changed.config_options)
        await connection.set_model(self.session_id, wanted)
        facts.model = model
        return []

    async def _apply_mode(self, connection: "AcpConnection", mode: str) -> list[EngineEvent]:
        facts = self.translator.facts
        wanted = facts.ids.get(mode, mode)
        if facts.mode_option:
            changed = await connection.set_option(self.session_id, facts.mode_option, wanted)
            facts.mode = mode
            return self.translator.note_options(changed.config_options)
        await connection.set_mode(self.session_id, wanted)
        facts.mode = mode
        return []


async def _choose(
    applying: Awaitable[list[EngineEvent]], code: Code, otherwise: Noticed | None = None
) -> list[EngineEvent]:
    """`otherwise` is told where the agent has no such request at all: one that lists no models may still take some."""
    try:
        async with asyncio.timeout(OPEN_SEC):
            return await applying
    except AgentRefused as refusal:
        if otherwise is not None and refusal.code == METHOD_NOT_FOUND:
            return [otherwise]
        raise error(code, refusal.words) from None
    except TimeoutError:
        words = f"The agent did not apply a setting within {OPEN_SEC:.0f} s, so its session was ended."
        raise AgentGone(TurnFailed(Code.E_ACP_TIMEOUT, words)) from None
