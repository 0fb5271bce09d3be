"""Commands about the process behind a session: what it is doing, its model, what it used, and its end."""

from fairlead.core import requests as ask
from fairlead.core import timestamps
from fairlead.core.decide.sessions import ChooseModel
from fairlead.core.engine import SetMode, SetModel
from fairlead.core.replies import AgentReport, AgentStopped, ModelSet, ModeSet, UsageReport
from fairlead.core.requests import Caller
from fairlead.core.state import Session, State
from fairlead.errors import Code, error
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.flow.queries.reports import session_of_caller
from fairlead.flow.turns.cancellation import cancel_jobs
from fairlead.ports import AgentInfo


def agent_handlers(parts: CommandParts) -> HandlerTable:
    commands = AgentCommands(parts)
    return {
        ask.AgentStatus: commands.status,
        ask.AgentStop: commands.stop,
        ask.AgentModel: commands.model,
        ask.AgentMode: commands.mode,
        ask.AgentUsage: commands.usage,
    }


class AgentCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._ledger = parts.ledger
        self._scheduler = parts.scheduler
        self._runtimes = parts.runtimes
        self._workspaces = parts.workspaces

    @property
    def _state(self) -> State:
        return self._ledger.state

    def _session(self, caller: Caller) -> Session:
        session = session_of_caller(self._state, caller, self._ledger.now())
        if session is None:
            raise error(Code.E_NO_ACTIVE_SESSION)
        return session

    def _info(self, session: Session) -> AgentInfo:
        runtime = self._runtimes.get(session.runtime)
        return runtime.describe(session.session_key) if runtime is not None else AgentInfo()

    async def status(self, _request: ask.AgentStatus, caller: Caller) -> AgentReport:
        session = self._session(caller)
        info = self._info(session)
        project = self._state.projects.get(session.project)
        running = session.running_job_id is not None
        return AgentReport(
            session_id=session.session_id,
            project=session.project,
            project_number=project.number if project is not None else 0,
            tool=session.runtime,
            model=session.models.get(session.runtime) or info.model,
            state="Prompting" if running and info.state == "Closed" else info.state,
            seconds_since_activity=timestamps.seconds_between(session.last_activity_at, self._ledger.now()),
            models=info.models,
            mode=info.mode,
            modes=info.modes,
        )

    async def stop(self, request: ask.AgentStop, caller: Caller) -> AgentStopped:
        session = self._session(caller)
        runtime = self._runtimes.get(session.runtime)
        live = [j for j in (session.running_job_id, session.agent_job_id) if j is not None]
        info = self._info(session)
        if not live and info.state == "Closed":
            raise error(Code.E_NO_ACTIVE_SESSION, "No agent is running for this session.")
        if runtime is not None and request.kill:
            await runtime.end_session(session.session_key, "kill")
        await cancel_jobs(self._ledger, self._scheduler, live, caller.person, "agent stopped")
        if runtime is not None and not request.kill:
            await runtime.end_session(session.session_key, "stop")
        return AgentStopped(session.session_id, request.kill)

    async def model(self, request: ask.AgentModel, caller: Caller) -> ModelSet:
        session = self._session(caller)
        runtime = self._runtimes.get(session.runtime)
        if runtime is None or not runtime.capabilities.models:
            raise error(Code.E_MODEL_UNAVAILABLE, f"{session.runtime} has no choice of models.")
        offered = self._info(session).models
        if offered and request.model not in offered:
            raise error(Code.E_MODEL_UNAVAILABLE, f"{request.model[:60]!r} is not among {', '.join(offered)}.")
        await self._ledger.record_durably(ChooseModel(session.session_key, session.runtime, request.model))
        await runtime.instruct(session.session_key, SetModel(request.model))
        return ModelSet(request.model)

    async def mode(self, request: ask.AgentMode, caller: Caller) -> ModeSet:
        """A mode is a standing permission for everybody in the session, so the specification asks for the owner."""
        session = self._session(caller)
        runtime = self._runtimes.get(session.runtime)
        if runtime is None or not runtime.capabilities.modes:
            raise error(Code.E_MODE_UNAVAILABLE, f"{session.runtime} has no modes: the project's permissions decide.")
        await runtime.instruct(session.session_key, SetMode(request.mode, f"{self._workspaces}/{session.project}"))
        return ModeSet(request.mode)

    async def usage(self, _request: ask.AgentUsage, caller: Caller) -> UsageReport:
        session = self._session(caller)
        info = self._info(session)
        return UsageReport(
            session_id=session.session_id,
            input_tokens=session.input_tokens,
            output_tokens=session.output_tokens,
            cost_usd=session.cost_usd,
            context_used=info.context_used,
            context_size=info.context_size,
        )
