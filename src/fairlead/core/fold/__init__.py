"""state = fold(events): one rule per event. Depends on the events and the highest `ts` seen, never on a clock.

Rules are found in a table rather than by `match`: a replay of a million events spends its time here. `_RULES` is
checked against `EVENT_TYPES` on import, so a new event without a rule stops everything at once.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from fairlead.core import events as e
from fairlead.core.fold import (
    agent_calls,
    agent_sessions,
    agents,
    budgets,
    delivery,
    forks,
    hooks,
    jobs,
    machine_names,
    machines,
    projects,
    questions,
    rules,
    schedules,
    sessions,
    spawns,
    steering,
    trees,
    undos,
    worktrees,
)
from fairlead.core.retention import change_day
from fairlead.core.state import State


class Numbered(Protocol):
    """A line of the journal, as far as the fold needs it; a silent event may have been left out of it."""

    @property
    def seq(self) -> int: ...

    @property
    def ts(self) -> str: ...

    @property
    def payload(self) -> Any: ...


class Unfit(Exception):  # noqa: N818 - says what the line is
    """A line that can be read but does not follow from the lines before it."""

    def __init__(self, line: Numbered, fault: Exception) -> None:
        name = "This line" if line.payload is None else type(line.payload).__name__
        super().__init__(f"{name} does not fit what was before it ({type(fault).__name__}: {fault})")
        self.seq = line.seq


class OutOfOrder(Exception):  # noqa: N818 - says what the line is
    """A line whose `seq` does not follow the one before it."""


def apply(state: State, seq: int, ts: str, event: e.JournalEvent) -> None:
    """Take one fact into the state. A fact about an object that is no longer live changes nothing."""
    state.seq = seq
    state.highest_ts = max(state.highest_ts, ts)
    if ts >= state.next_day or ts < state.day_start:
        change_day(state, ts)
    _RULES[type(event)](state, ts, event)


def replay(state: State, lines: Iterable[Numbered]) -> None:
    """The same as `apply` for each line, for a start that has a million of them: `seq` and `highest_ts`
    are kept in local variables and written once, so no rule may look at `state.seq` or `state.highest_ts`. Lines must
    follow the state and each other without a gap."""
    seq = state.seq
    rules = _RULES
    highest = state.highest_ts
    day_start, next_day = state.day_start, state.next_day
    last = ""
    line = None
    try:
        for line in lines:
            seq += 1
            if line.seq != seq:
                raise OutOfOrder
            ts = line.ts
            if ts != last:
                last = ts
                if ts > highest:  # noqa: PLR1730 - `max` is a call, for every line of a start
                    highest = ts
                if ts >= next_day or ts < day_start:
                    change_day(state, ts)
                    day_start, next_day = state.day_start, state.next_day
            event: e.JournalEvent | None = line.payload
            if event is not None:
                rules[type(event)](state, ts, event)
    except OutOfOrder:
        raise
    except Exception as fault:  # whatever a rule raises, the start must name the line that does not fit
        if line is None:
            raise
        raise Unfit(line, fault) from fault
    state.seq = seq
    state.highest_ts = highest


SILENT: Final = (e.JobProgress, e.DaemonStarted)
"""Events that only record a sign of life or a start: they change nothing in the state."""

_Rule = Callable[[State, str, Any], None]
_RULES: Final[dict[type[e.JournalEvent], _Rule]] = {
    e.StateFounded: sessions.state_founded,
    e.DaemonStarted: sessions.change_nothing,
    e.OwnerSet: sessions.owner_set,
    e.PersonSeen: sessions.person_seen,
    e.ProjectCreated: projects.project_created,
    e.ProjectUpdated: projects.project_updated,
    e.ProjectRenamed: projects.project_renamed,
    e.ProjectRemoved: projects.project_removed,
    e.ProjectSwitched: projects.project_switched,
    e.AgentConfigured: agents.agent_configured,
    e.AgentRemoved: agents.agent_removed,
    e.MachineAdded: machines.machine_added,
    e.MachineRemoved: machines.machine_removed,
    e.MachineRenamed: machine_names.machine_renamed,
    e.RunnerMet: machines.runner_met,
    e.MachinesEpochBegun: machines.epoch_begun,
    e.SessionCreated: sessions.session_created,
    e.SessionSpawned: spawns.session_spawned,
    e.SessionDiscarded: sessions.session_discarded,
    e.SessionTitled: sessions.session_titled,
    e.ToolChanged: sessions.tool_changed,
    e.ModelChosen: sessions.model_chosen,
    e.SessionReset: sessions.session_reset,
    e.ResumeKeyLearnt: sessions.resume_key_learnt,
    e.ResumeKeyForgotten: sessions.resume_key_forgotten,
    e.SessionAdopted: agent_sessions.session_adopted,
    e.SessionHandedOff: agent_sessions.session_handed_off,
    e.SessionTakenBack: agent_sessions.session_taken_back,
    e.RuleGranted: sessions.rule_granted,
    e.StandingRuleMade: rules.rule_made,
    e.StandingRuleUsed: rules.rule_used,
    e.StandingRuleRemoved: rules.rule_removed,
    e.HookAdded: hooks.hook_added,
    e.HookRemoved: hooks.hook_removed,
    e.BudgetSet: budgets.budget_set,
    e.BudgetDecided: budgets.budget_decided,
    e.JobEnqueued: jobs.job_enqueued,
    e.MessageRefused: jobs.message_refused,
    e.MessageSkipped: jobs.message_skipped,
    e.JobAmended: jobs.job_amended,
    e.AttachmentsStored: jobs.attachments_stored,
    e.JobWithdrawn: jobs.job_withdrawn,
    e.JobStarted: jobs.job_started,
    e.JobProgress: sessions.change_nothing,
    e.JobHandedOver: jobs.job_handed_over,
    e.JobRequeued: jobs.job_requeued,
    e.JobTriedAgain: jobs.job_tried_again,
    e.JobContinued: jobs.job_continued,
    e.JobCompleted: jobs.job_completed,
    e.JobFailed: jobs.job_failed,
    e.JobCancelled: jobs.job_cancelled,
    e.JobMarkedUnknownAfterCrash: jobs.job_marked_unknown,
    e.QuestionAsked: questions.question_asked,
    e.QuestionAnswered: questions.question_answered,
    e.ChoiceMade: questions.choice_made,
    e.QuestionClosed: questions.question_closed,
    e.AgentToolCalled: agent_calls.agent_tool_called,
    e.AgentRequestRefused: jobs.agent_request_refused,
    e.ScheduleMade: schedules.schedule_made,
    e.ScheduleConfirmed: schedules.schedule_confirmed,
    e.SchedulePaused: schedules.schedule_paused,
    e.ScheduleResumed: schedules.schedule_resumed,
    e.ScheduleRemoved: schedules.schedule_removed,
    e.ScheduleTicked: schedules.schedule_ticked,
    e.ScheduleDueMoved: schedules.due_moved,
    e.SteeringAsked: steering.steering_asked,
    e.SteeringBegun: steering.steering_begun,
    e.JobSteered: steering.job_steered,
    e.SteeringDeclined: steering.steering_declined,
    e.SessionForked: forks.session_forked,
    e.ForkPlanned: forks.fork_planned,
    e.ProjectWorktreesSet: worktrees.project_worktrees_set,
    e.WorktreePlanned: worktrees.worktree_planned,
    e.WorktreeMade: worktrees.worktree_made,
    e.WorktreeFailed: worktrees.worktree_failed,
    e.WorktreeMergeBegun: worktrees.merge_begun,
    e.WorktreeMerged: worktrees.worktree_merged,
    e.WorktreeMergeStopped: worktrees.merge_stopped,
    e.WorktreeDiscardBegun: worktrees.discard_begun,
    e.WorktreeDiscarded: worktrees.worktree_discarded,
    e.BindingBound: sessions.binding_bound,
    e.BindingTouched: sessions.binding_touched,
    e.BindingEnded: sessions.binding_ended,
    e.DeliveryOwed: delivery.delivery_owed,
    e.DeliveryPlanned: delivery.delivery_planned,
    e.PieceDelivered: delivery.piece_delivered,
    e.DeliveryDeferred: delivery.delivery_deferred,
    e.DeliveryAcknowledged: delivery.delivery_acknowledged,
    e.DeliveryAbandoned: delivery.delivery_abandoned,
    e.TreeSnapshotTaken: trees.tree_snapshot_taken,
    e.TreeSnapshotMissed: trees.tree_snapshot_missed,
    e.UndoBegan: undos.undo_began,
    e.UndoEnded: undos.undo_ended,
    e.JobUndone: undos.job_undone,
    e.JobRedone: undos.job_redone,
}
assert set(_RULES) == set(e.EVENT_TYPES), "every journal event needs a rule"
