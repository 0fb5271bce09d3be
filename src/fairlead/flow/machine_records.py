"""What the journal knows of other machines and is told of them; and the runners hear when their turns are settled."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fairlead.core.decide.machines import BeginMachinesEpoch, MeetRunner, is_set_back
from fairlead.core.decide.projects import FollowAgents
from fairlead.core.events import (
    JobCancelled,
    JobCompleted,
    JobFailed,
    JobMarkedUnknownAfterCrash,
    JournalEvent,
    MachineAdded,
    MachineRemoved,
)
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.machines.machine import Machine
from fairlead.core.machines.places import machine_of
from fairlead.core.message_ids import agent_turn_id
from fairlead.core.state import Job
from fairlead.flow.agent_runtimes import AgentRuntimes
from fairlead.flow.ledger import Ledger
from fairlead.machine_ports import OtherMachines

if TYPE_CHECKING:
    from fairlead.core.machines.messages import AgentTurnBegun, RunnerHello

_ENDS = (JobCompleted, JobFailed, JobCancelled, JobMarkedUnknownAfterCrash)


class MachineRecordKeeper:
    """machine_ports.MachineRecords, and an announcer of the ledger: a runner may forget a turn when the end of its job
    is durable, not earlier."""

    def __init__(
        self,
        ledger: Ledger,
        agent_runtimes: AgentRuntimes,
        others: OtherMachines,
        tell_presence: Callable[[str], None] = lambda _machine: None,
    ) -> None:
        """`tell_presence` is told of every machine that came or went."""
        self._ledger = ledger
        self._agent_runtimes = agent_runtimes
        self._others = others
        self._tell_presence = tell_presence

    # --- machine_ports.MachineRecords

    @property
    def machines(self) -> Mapping[str, Machine]:
        return self._ledger.state.machines

    @property
    def last_epoch(self) -> int:
        return self._ledger.state.machines_epoch

    @property
    def tokens(self) -> Sequence[str]:
        return self._ledger.state.machines_tokens

    @property
    def step(self) -> int:
        return self._ledger.state.machines_step

    def now(self) -> str:
        return self._ledger.now()

    async def begin_epoch(self, epoch: int, token: str, *, took_over: bool = False) -> None:
        await self._ledger.record_durably(BeginMachinesEpoch(epoch=epoch, token=token, took_over=took_over))

    def is_set_back(self, hello: "RunnerHello") -> bool:
        return bool(hello.daemon_step) and is_set_back(self._ledger.state, hello.daemon_step, hello.daemon_token)

    async def meet(self, machine: str, hello: "RunnerHello", epoch: int) -> None:
        await self._ledger.record_durably(
            MeetRunner(
                machine=machine,
                runner_id=hello.runner_id,
                epoch=epoch,
                version=hello.version,
                agents=hello.agents,
                slots=hello.slots,
            )
        )
        await self._agent_runtimes.follow()
        await self._ledger.record_durably(FollowAgents())

    def is_wanted(self, turn_id: str) -> bool:
        job = self._find_job(turn_id)
        if job is not None:
            return job.is_live
        return "@" in turn_id and self._is_new(turn_id)

    def works_at(self, machine: str, session_key: SessionKeyText) -> bool:
        state = self._ledger.state
        session = state.sessions.get(session_key)
        if session is None:
            return False
        job_ids = (session.running_job_id, session.agent_job_id, session.last_job_id)
        jobs = (state.jobs.get(job_id) for job_id in job_ids if job_id)
        paths = [job.project_path for job in jobs if job is not None]
        project = state.projects.get(session.project)
        return machine in {machine_of(path) for path in [*paths, project.path if project is not None else ""]}

    def wants_agent_turn(self, begun: "AgentTurnBegun") -> bool:
        session = self._ledger.state.sessions.get(begun.session_key)
        is_current = session is not None and session.generation == begun.generation and session.hand_off is None
        return is_current and self.is_wanted(begun.turn_id)

    def may_have_begun(self, turn_id: str) -> bool:
        job = self._find_job(turn_id)
        if job is None:
            return True
        machine = self.machines.get(machine_of(job.project_path))
        is_lost = machine is None or job.job_id in machine.lost_jobs
        return is_lost or (turn_id.endswith("#1") and not job.awaits_hand_over)

    def on_presence(self, machine: str) -> None:
        self._ledger.wake()
        self._tell_presence(machine)

    def _find_job(self, turn_id: str) -> Job | None:
        """By the name that the turn has on its machine: that of its job, or of a session whose agent began it."""
        state = self._ledger.state
        job_id, numbered, _ = turn_id.rpartition("#")
        if numbered:
            return state.jobs.get(JobId(job_id))
        session = state.sessions.get(SessionKeyText(turn_id.rpartition("@")[0]))
        return None if session is None else state.job_of(session.conversation, agent_turn_id(turn_id))

    def _is_new(self, turn_id: str) -> bool:
        session = self._ledger.state.sessions.get(SessionKeyText(turn_id.rpartition("@")[0]))
        return (
            session is not None and self._ledger.state.outcome_of(session.conversation, agent_turn_id(turn_id)) is None
        )

    # --- flow.ledger.Announcer

    def note(self, events: Sequence[JournalEvent]) -> None:
        """Nobody hears of what is not durable."""

    def announce(self, events: Sequence[JournalEvent]) -> None:
        if not self.machines and not any(isinstance(event, MachineRemoved) for event in events):
            return
        for event in events:
            match event:
                case MachineAdded() | MachineRemoved():
                    self._others.follow()
                case _ if isinstance(event, _ENDS):
                    self._settle(event.job_id)
                case _:
                    pass

    def _settle(self, job_id: JobId) -> None:
        job = self._ledger.state.jobs.get(job_id)
        machine = "" if job is None else machine_of(job.project_path)
        if job is None or not machine:
            return
        if job.cause == "agent":
            self._others.settle(machine, (job.message_id.removeprefix(agent_turn_id("")),))
        else:
            self._others.settle(machine, (f"{job_id}#1", f"{job_id}#2"))
