"""The way to look: choices, jobs, history, what is happening. Changes nothing."""

from collections.abc import Mapping

from fairlead.core.conversation import ConversationRef
from fairlead.core.job_states import RETRYABLE
from fairlead.core.requests import Caller
from fairlead.core.state import Job, State
from fairlead.core.visibility import may_see
from fairlead.flow.commands.agents import session_meant
from fairlead.flow.ledger import Ledger
from fairlead.flow.queries.job_history import JobHistory
from fairlead.flow.queries.live_events import LiveEvents, Watch
from fairlead.ports import AgentInfo, ChoiceKind, JobView, Runtime
from fairlead.render.words import pick_language


class FlowView:
    def __init__(
        self,
        ledger: Ledger,
        live_events: LiveEvents,
        job_history: JobHistory,
        runtimes: Mapping[str, Runtime],
        *,
        default_language: str,
    ) -> None:
        self._ledger = ledger
        self._live_events = live_events
        self._job_history = job_history
        self._runtimes = runtimes
        self._default_language = default_language

    @property
    def state(self) -> State:
        return self._ledger.state

    def choices(self, kind: ChoiceKind, typed: str, caller: Caller) -> list[str]:
        wanted = typed.strip().lower()
        return [c for c in self._all_choices(kind, caller) if wanted in c.lower()]

    def _all_choices(self, kind: ChoiceKind, caller: Caller) -> list[str]:
        state = self.state
        here = state.session_for(caller.conversation, caller.session_key, self._ledger.now())
        match kind:
            case "project":
                return [p.name for p in sorted(state.projects.values(), key=lambda p: p.number) if not p.disabled]
            case "tool":
                project = state.projects.get(here.project) if here is not None else None
                return list(project.enabled_tools if project is not None else self._ledger.limits.tools)
            case "any_tool":
                return list(self._ledger.limits.tools)
            case "session":
                recent = sorted(state.sessions.values(), key=lambda s: s.last_activity_at, reverse=True)
                return [s.session_id for s in recent if may_see(state, s.session_key, caller)]
            case "retryable":
                failed = [
                    j for j in state.jobs.values() if j.state in RETRYABLE and may_see(state, j.session_key, caller)
                ]
                failed.sort(key=lambda j: (here is not None and j.session_key == here.session_key, j.finished_at or ""))
                return [j.job_id for j in reversed(failed)]
            case "model":
                return list(self._agent(caller).models)
            case "mode":
                return list(self._agent(caller).modes)

    def _agent(self, caller: Caller) -> AgentInfo:
        session = session_meant(self.state, caller, self._ledger.now())
        runtime = self._runtimes.get(session.tool) if session is not None else None
        return runtime.describe(session.session_key) if runtime is not None and session is not None else AgentInfo()

    async def job(self, job_id: str) -> JobView:
        past = await self._job_history.job(job_id)
        return _job_view(past.job, past.prompt, past.answer)

    def history(self, session_key: str) -> list[JobView]:
        jobs = [j for j in self.state.jobs.values() if j.session_key == session_key]
        return [_job_view(j, "", "") for j in sorted(jobs, key=lambda j: j.enqueued_at)]

    def unfetched(self, conversation: ConversationRef) -> list[str]:
        return [
            d.job_id
            for d in self.state.outbox.values()
            if d.kind == "answer" and d.awaits_fetching and d.requester.address == conversation.address
        ]

    def watch(self, *, session_key: str | None = None, job_id: str | None = None) -> Watch:
        return self._live_events.watch(session_key=session_key, job_id=job_id)

    def language_of(self, person: str) -> str:
        known = self.state.people.get(person)
        return pick_language(known.locale if known is not None else None, self._default_language)


def _job_view(job: Job, prompt: str, answer: str) -> JobView:
    return JobView(
        job.job_id,
        job.session_key,
        job.state,
        job.attempt,
        job.enqueued_at,
        job.tool or "",
        prompt,
        job.started_at,
        job.finished_at,
        answer,
        job.error_code,
        job.error_message,
        job.files,
        job.body_digest,
        job.cost_usd,
    )
