"""The commands that every channel offers, each of them once. A channel parses the words and draws the reply."""

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

import msgspec

from fairlead.core import requests as ask
from fairlead.core.decide.messages import RetryJob, is_allowed
from fairlead.core.decide.projects import AddProject, CreateProject, SwitchProject
from fairlead.core.decide.sessions import ChangeTool, ResetSession
from fairlead.core.replies import (
    JobQueued,
    JobsCancelled,
    ProjectCatalogue,
    ProjectInfo,
    ProjectSelected,
    Reply,
    SessionCatalogue,
    SessionFound,
    SessionWasReset,
    StatusReport,
    Story,
    ToolSet,
)
from fairlead.core.requests import Caller, Request
from fairlead.core.state import Project, Session, State
from fairlead.core.visibility import may_see
from fairlead.errors import Code, error
from fairlead.flow.commands.agents import AgentCommands
from fairlead.flow.commands.thread_start import ThreadStart
from fairlead.flow.ledger import Ledger
from fairlead.flow.queries import reports
from fairlead.flow.queries.job_history import JobHistory
from fairlead.flow.turns.cancellation import cancel_jobs
from fairlead.flow.turns.scheduler import Scheduler
from fairlead.ports import Directories, Runtime

SESSION_LIST_LENGTH: Final = 20

_POSSIBLE_WITHOUT_ROOM: Final = (
    ask.Status,
    ask.ProjectList,
    ask.ProjectStatus,
    ask.SessionList,
    ask.SessionOpen,
    ask.AgentStatus,
    ask.AgentUsage,
    ask.AgentMode,
    ask.AgentStop,
    ask.Cancel,
)
"""While the disk is full: to see what is there, and to stop whatever fills it. All else would wait for room in
silence."""


class CommandHandlers:
    def __init__(
        self,
        ledger: Ledger,
        scheduler: Scheduler,
        *,
        directories: Directories,
        job_history: JobHistory,
        agents: AgentCommands,
        openings: ThreadStart,
        runtimes: Mapping[str, Runtime],
    ) -> None:
        self._ledger = ledger
        self._scheduler = scheduler
        self._directories = directories
        self._job_history = job_history
        self._runtimes = runtimes
        self._handlers: dict[type[Request], Callable[[Any, Caller], Coroutine[Any, Any, Reply]]] = {
            ask.ProjectCreate: self._project_create,
            ask.ProjectAdd: self._project_add,
            ask.ProjectList: self._project_list,
            ask.ProjectStatus: self._project_status,
            ask.ProjectSwitch: self._project_switch,
            ask.Status: self._status,
            ask.Tool: self._tool,
            ask.Retry: self._retry,
            ask.SessionList: self._session_list,
            ask.SessionOpen: self._session_open,
            ask.Reset: self._reset,
            ask.Cancel: self._cancel,
            ask.Why: self._why,
            ask.Start: openings.start,
            ask.AgentStatus: agents.status,
            ask.AgentStop: agents.stop,
            ask.AgentModel: agents.model,
            ask.AgentMode: agents.mode,
            ask.AgentUsage: agents.usage,
        }

    @property
    def _state(self) -> State:
        return self._ledger.state

    async def run(self, request: Request, caller: Caller) -> Reply:
        if not is_allowed(self._state, caller.person, self._ledger.limits, pre_authorised=caller.pre_authorised):
            raise error(Code.E_OWNER_ONLY)
        if not isinstance(request, _POSSIBLE_WITHOUT_ROOM):
            self._ledger.check_room()
        reply = await self._handlers[type(request)](request, caller)
        if not self._ledger.is_stalled:
            await self._ledger.until_all_durable()
        return reply

    # --- projects

    async def _project_create(self, request: ask.ProjectCreate, caller: Caller) -> ProjectInfo:
        tools = tuple(t.strip() for t in request.tools_csv.split(",") if t.strip())
        decision = await self._ledger.record_durably(
            CreateProject(
                name=request.name,
                directory=self._directories.inspect(request.path),
                tools=tuple(dict.fromkeys(tools)),
                default_tool=request.default_tool.strip(),
                args=_parsed_args(request.args_json),
            )
        )
        return self._info(self._state.projects[decision.project], caller, created=True)

    async def _project_add(self, request: ask.ProjectAdd, caller: Caller) -> ProjectInfo:
        decision = await self._ledger.record_durably(AddProject(self._directories.inspect(request.path)))
        return self._info(self._state.projects[decision.project], caller, created=not decision.duplicate)

    async def _project_list(self, _request: ask.ProjectList, caller: Caller) -> ProjectCatalogue:
        projects = sorted(self._state.projects.values(), key=lambda p: p.number)
        return ProjectCatalogue(tuple(self._info(p, caller) for p in projects))

    async def _project_status(self, request: ask.ProjectStatus, _caller: Caller) -> Reply:
        return reports.project_report(self._state, self._project(request.project), self._ledger.now())

    async def _project_switch(self, request: ask.ProjectSwitch, caller: Caller) -> ProjectSelected:
        session = self._session_here(caller)
        key = session.key if session is not None else caller.session_key
        await self._ledger.record_durably(SwitchProject(request.project, key, caller.conversation, caller.person))
        project = self._project(request.project)
        return ProjectSelected(project.name, project.number, project.path, self._state.sessions[key.text].tool)

    def _project(self, name: str) -> Project:
        project = self._state.project_named(name)
        if project is None:
            raise error(Code.E_PROJECT_NOT_FOUND, f"There is no project {name[:60]!r}.")
        return project

    def _info(self, project: Project, caller: Caller, *, created: bool = False) -> ProjectInfo:
        session = self._session_here(caller)
        person = self._state.people.get(caller.person)
        current = session.project if session is not None else (person.project if person is not None else "")
        return ProjectInfo(
            project.number,
            project.name,
            project.path,
            project.enabled_tools,
            project.default_tool,
            project.name == current,
            project.disabled,
            created,
        )

    # --- sessions

    def _session_here(self, caller: Caller) -> Session | None:
        return self._state.session_for(caller.conversation, caller.session_key, self._ledger.now())

    def _managed_session(self, caller: Caller) -> Session:
        session = self._session_here(caller)
        if session is None:
            raise error(Code.E_NOT_IN_MANAGED_THREAD)
        return session

    async def _status(self, _request: ask.Status, caller: Caller) -> StatusReport:
        session = self._managed_session(caller)
        runtime = self._runtimes.get(session.tool)
        return reports.status_report(
            self._state, session, can_ask=runtime is not None and runtime.capabilities.permissions
        )

    async def _tool(self, request: ask.Tool, caller: Caller) -> ToolSet:
        session = self._managed_session(caller)
        await self._ledger.record_durably(ChangeTool(session.session_key, request.tool))
        return ToolSet(request.tool, from_next_job=session.running_job_id is not None)

    async def _session_list(self, request: ask.SessionList, caller: Caller) -> SessionCatalogue:
        project = self._project(request.project) if request.project else None
        seen = [s for s in self._state.sessions.values() if may_see(self._state, s.session_key, caller)]
        chosen = [s for s in seen if project is None or s.project == project.name]
        chosen.sort(key=lambda s: s.last_activity_at, reverse=True)
        return SessionCatalogue(tuple(reports.session_row(self._state, s) for s in chosen[:SESSION_LIST_LENGTH]))

    async def _session_open(self, request: ask.SessionOpen, caller: Caller) -> SessionFound:
        session = self._state.session_named(request.session_id)
        if session is None or not may_see(self._state, session.session_key, caller):
            raise error(Code.E_SESSION_NOT_FOUND, f"There is no session {request.session_id[:100]!r}.")
        return SessionFound(reports.session_row(self._state, session))

    async def _reset(self, _request: ask.Reset, caller: Caller) -> SessionWasReset:
        session = self._managed_session(caller)
        live = [*session.queue, *filter(None, (session.running_job_id, session.agent_job_id))]
        with self._scheduler.rest(session.session_key):
            await self._ledger.record_durably(ResetSession(session.session_key, caller.person))
            await cancel_jobs(self._ledger, self._scheduler, live, caller.person, "reset")
            runtime = self._runtimes.get(session.tool)
            if runtime is not None:
                await runtime.end_session(session.session_key, "stop")
        return SessionWasReset(session.session_key, tuple(live))

    # --- jobs

    async def _cancel(self, request: ask.Cancel, caller: Caller) -> JobsCancelled:
        session = self._managed_session(caller)
        everything = [*filter(None, (session.running_job_id, session.agent_job_id)), *session.queue]
        chosen = [j for j in everything if request.job_id in {"", j}]
        if not chosen:
            raise error(Code.E_NOTHING_TO_CANCEL)
        return await cancel_jobs(self._ledger, self._scheduler, chosen, caller.person)

    async def _retry(self, request: ask.Retry, caller: Caller) -> JobQueued:
        past = await self._job_history.job(request.job_id)
        if not may_see(self._state, past.job.session_key, caller):
            raise error(Code.E_JOB_NOT_FOUND, f"There is no job {request.job_id!r}.")
        prompt = "" if past.job.prompt_blob else past.prompt
        decision = await self._ledger.record_durably(RetryJob(past.job, prompt, caller.person, past.job.attachments))
        job = self._state.jobs[decision.job_id]
        return JobQueued(job.job_id, job.attempt, job.retry_of)

    async def _why(self, request: ask.Why, caller: Caller) -> Story:
        return await self._job_history.story(request.subject, caller)


def _parsed_args(args_json: str) -> dict[str, tuple[str, ...]]:
    """`{"claude": ["--model", "opus"]}`: lists of strings, never one string for a shell."""
    if not args_json.strip():
        return {}
    try:
        return msgspec.convert(json.loads(args_json), dict[str, tuple[str, ...]])
    except (ValueError, msgspec.ValidationError) as fault:
        raise error(
            Code.E_INVALID_ARGS,
            f"args_json is not understood: {fault}.",
            next_step='Give an object of lists, such as {"claude": ["--model", "opus"]}.',
        ) from None
