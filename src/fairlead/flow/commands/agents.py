"""Commands about the process behind a session: what it is doing, its model, what it used, and its end."""

from fairlead.core import message_ids, timestamps
from fairlead.core import requests as ask
from fairlead.core.decide.sessions import ChooseModel
from fairlead.core.engine import SetMode, SetModel
from fairlead.core.inbound import Inbound
from fairlead.core.replies import AgentReport, AgentStopped, CommandSent, ModelSet, ModeSet, UsageReport
from fairlead.core.requests import Caller
from fairlead.core.state import Session, State
from fairlead.errors import Code, error
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.flow.queries.abilities import inabilities
from fairlead.flow.queries.reports import session_of_caller
from fairlead.flow.turns.cancellation import cancel_jobs
from fairlead.flow.turns.invocation import workspace_path
from fairlead.ports import AgentInfo


def agent_handlers(parts: CommandParts) -> HandlerTable:
    commands = AgentCommands(parts)
    return {
        ask.AgentStatus: commands.status,
        ask.AgentStop: commands.stop,
        ask.AgentModel: commands.model,
        ask.AgentMode: commands.mode,
        ask.AgentSlashCommand: commands.command,
        ask.AgentUsage: commands.usage,
    }


class AgentCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._ledger = parts.ledger
        self._intake = parts.intake
        self._scheduler = parts.scheduler
        self._runtimes = parts.runtimes
        self._workspaces = parts.workspaces
        self._limit_windows = parts.limit_windows

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
        cannot = inabilities(session.runtime, self._runtimes, () if project is None else project.enabled_runtimes)
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
            options={option.name: option.current for option in info.options},
            commands=tuple(command.name for command in info.commands),
            can_ask=all(one.ability != "ask" for one in cannot),
            cannot=cannot,
        )

    async def stop(self, request: ask.AgentStop, caller: Caller) -> AgentStopped:
        session = self._session(caller)
        runtime = self._runtimes.get(session.runtime)
        live = [j for j in (session.running_job_id, session.agent_job_id) if j is not None]
        info = self._info(session)
        if not live and info.state == "Closed":
            raise error(Code.E_NO_ACTIVE_SESSION, "No agent is running for this session.")
        with self._scheduler.rest(session.session_key):
            # The turn must know that a person ended it before its agent says that it was ended.
            await cancel_jobs(self._ledger, self._scheduler, live, caller.person, "agent stopped")
            if runtime is not None:
                await runtime.end_session(session.session_key, "kill" if request.kill else "stop")
        return AgentStopped(session.session_id, request.kill)

    async def model(self, request: ask.AgentModel, caller: Caller) -> ModelSet:
        session = self._session(caller)
        runtime = self._runtimes.get(session.runtime)
        if runtime is None or not runtime.capabilities.models:
            raise error(Code.E_MODEL_UNAVAILABLE, f"{session.runtime} does not offer a choice of models.")
        info = self._info(session)
        offered = info.models
        if not request.model:
            return ModelSet(session.models.get(session.runtime) or info.model, offered)
        if offered and request.model not in offered:
            raise error(Code.E_MODEL_UNAVAILABLE, f"{request.model[:60]!r} is not among {', '.join(offered)}.")
        # The agent first: a model that it refuses would fail every later turn.
        await runtime.instruct(session.session_key, SetModel(request.model))
        await self._ledger.record_durably(ChooseModel(session.session_key, session.runtime, request.model))
        return ModelSet(request.model)

    async def mode(self, request: ask.AgentMode, caller: Caller) -> ModeSet:
        """A mode is a standing permission for everybody in the session, so the specification asks for the owner."""
        session = self._session(caller)
        runtime = self._runtimes.get(session.runtime)
        if runtime is None or not runtime.capabilities.modes:
            raise error(Code.E_MODE_UNAVAILABLE, f"{session.runtime} has no modes; the project's permissions apply.")
        if not request.mode:
            info = self._info(session)
            return ModeSet(info.mode, info.modes)
        project = self._state.projects.get(session.project)
        workspace = workspace_path(self._workspaces, project.workspace_name if project else session.project)
        await runtime.instruct(session.session_key, SetMode(request.mode, workspace))
        return ModeSet(request.mode)

    async def command(self, request: ask.AgentSlashCommand, caller: Caller) -> CommandSent:
        """Goes the way of every message, so that it waits for its turn and is never run twice. From elsewhere, it goes
        to the session's own conversation, where its answer is read."""
        session = self._session(caller)
        is_here = self._state.session_for(caller.conversation, caller.session_key, self._ledger.now()) is session
        name = request.name.strip().removeprefix("/")
        self._check_is_offered(session, name)
        receipt = await self._intake.submit(
            Inbound(
                conversation=caller.conversation if is_here else session.conversation,
                session_key=caller.session_key if is_here else session.key,
                message_id=message_ids.command_id(request.asked_by),
                person=caller.person,
                text=f"/{name} {request.text}".rstrip(),
                pre_authorised=caller.pre_authorised,
            )
        )
        return CommandSent(receipt.job_id, name)

    def _check_is_offered(self, session: Session, name: str) -> None:
        """An agent that has not told of its commands yet, because it has not been started, decides by itself."""
        runtime = self._runtimes.get(session.runtime)
        offered = [command.name for command in self._info(session).commands]
        is_told = bool(offered) or runtime is None or not runtime.capabilities.commands
        if not name or (is_told and name not in offered):
            words = f"{session.runtime} offers no command /{name[:60]}."
            listed = f" It offers {', '.join(f'/{one}' for one in offered[:20])}." if offered else ""
            raise error(Code.E_INVALID_ARGS, words + listed)

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
            windows=self._limit_windows.of_runtime(session.runtime),
        )
