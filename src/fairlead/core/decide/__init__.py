"""decide(state, command) -> the facts to write, or a refusal. Pure: the caller passes the time and the limits in."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from fairlead.core.decide import (
    agent_calls,
    agent_sessions,
    agents,
    budgets,
    delivery,
    forks,
    hooks,
    job_ends,
    machines,
    messages,
    projects,
    questions,
    rules,
    schedules,
    scheduling,
    sessions,
    spawns,
    steering,
    thread_start,
    trees,
    undos,
    worktrees,
)
from fairlead.core.decide.decision import NOTHING, Decision
from fairlead.core.limits import Limits
from fairlead.core.questions import RespondToQuestion
from fairlead.core.state import State

Command: TypeAlias = (
    sessions.FoundState
    | sessions.BeginService
    | sessions.SeePerson
    | sessions.StartSession
    | thread_start.StartThread
    | spawns.SpawnSession
    | spawns.FinishReturn
    | sessions.ChangeRuntime
    | sessions.ChooseModel
    | sessions.TitleSession
    | sessions.ResetSession
    | agent_sessions.AdoptSession
    | agent_sessions.HandOffSession
    | agent_sessions.TakeBackSession
    | sessions.Bind
    | sessions.Touch
    | sessions.Unbind
    | projects.CreateProject
    | projects.AddProject
    | projects.UpdateProject
    | projects.FollowAgents
    | projects.RenameProject
    | projects.RemoveProject
    | projects.SwitchProject
    | agents.ConfigureAgent
    | agents.RemoveAgent
    | machines.AddMachine
    | machines.RemoveMachine
    | machines.RenameMachine
    | machines.MeetRunner
    | machines.BeginMachinesEpoch
    | messages.Submit
    | messages.SkipMessage
    | messages.AmendJob
    | messages.StoreAttachments
    | messages.RetryJob
    | scheduling.StartNext
    | scheduling.BeginAgentTurn
    | scheduling.HandOver
    | scheduling.LearnResumeKey
    | scheduling.ForgetResumeKey
    | scheduling.ReportProgress
    | job_ends.EndJob
    | job_ends.MarkInterrupted
    | job_ends.TryAgain
    | job_ends.CancelQueued
    | job_ends.WithdrawJob
    | questions.AskPerson
    | RespondToQuestion
    | questions.RemindOfQuestion
    | questions.ExpireQuestion
    | questions.WithdrawQuestion
    | questions.RefuseAgentRequest
    | agent_calls.SendForAgent
    | agent_calls.AskForAgent
    | agent_calls.TitleForAgent
    | agent_calls.NoteAgentCall
    | rules.UseRule
    | rules.RemoveRule
    | hooks.AddHook
    | hooks.RemoveHook
    | budgets.SetBudget
    | budgets.AskAboutBudget
    | budgets.CloseBudgetQuestion
    | schedules.MakeSchedule
    | schedules.ConfirmSchedule
    | schedules.PauseSchedule
    | schedules.ResumeSchedule
    | schedules.RemoveSchedule
    | schedules.SettleTick
    | schedules.RunByHand
    | schedules.MoveDue
    | worktrees.SetProjectWorktrees
    | worktrees.WantWorktree
    | worktrees.PlanAgain
    | worktrees.FinishMaking
    | worktrees.FailMaking
    | worktrees.BeginMerge
    | worktrees.FinishMerge
    | worktrees.StopMerge
    | worktrees.BeginDiscard
    | worktrees.FinishDiscard
    | forks.ForkSession
    | forks.SwitchSession
    | steering.AskToSteer
    | steering.BeginSteering
    | steering.DeclineSteering
    | steering.SettleSteering
    | delivery.PlanDelivery
    | delivery.MarkPieceSent
    | delivery.DeferDelivery
    | delivery.Acknowledge
    | delivery.AbandonDelivery
    | trees.NoteSnapshot
    | trees.MissSnapshot
    | undos.BeginUndo
    | undos.EndUndo
    | undos.TellOpenUndo
)

_DECIDERS: Final[dict[type[Command], Callable[[State, Any, str, Limits], Decision]]] = {
    sessions.FoundState: sessions.found_state,
    sessions.BeginService: sessions.begin_service,
    sessions.SeePerson: sessions.see_person,
    sessions.StartSession: sessions.start_session,
    thread_start.StartThread: thread_start.start_thread,
    spawns.SpawnSession: spawns.spawn_session,
    spawns.FinishReturn: spawns.finish_return,
    sessions.ChangeRuntime: sessions.change_runtime,
    sessions.ChooseModel: sessions.choose_model,
    sessions.TitleSession: sessions.title_session,
    sessions.ResetSession: sessions.reset_session,
    agent_sessions.AdoptSession: agent_sessions.adopt_session,
    agent_sessions.HandOffSession: agent_sessions.hand_off_session,
    agent_sessions.TakeBackSession: agent_sessions.take_back_session,
    sessions.Bind: sessions.bind,
    sessions.Touch: sessions.touch,
    sessions.Unbind: sessions.unbind,
    projects.CreateProject: projects.create_project,
    projects.AddProject: projects.add_project,
    projects.UpdateProject: projects.update_project,
    projects.FollowAgents: projects.follow_agents,
    projects.RenameProject: projects.rename_project,
    projects.RemoveProject: projects.remove_project,
    projects.SwitchProject: projects.switch_project,
    agents.ConfigureAgent: agents.configure_agent,
    agents.RemoveAgent: agents.remove_agent,
    machines.AddMachine: machines.add_machine,
    machines.RemoveMachine: machines.remove_machine,
    machines.RenameMachine: machines.rename_machine,
    machines.MeetRunner: machines.meet_runner,
    machines.BeginMachinesEpoch: machines.begin_epoch,
    messages.Submit: messages.submit,
    messages.SkipMessage: messages.skip_message,
    messages.AmendJob: messages.amend_job,
    messages.StoreAttachments: messages.store_attachments,
    messages.RetryJob: messages.retry_job,
    scheduling.StartNext: scheduling.start_next,
    scheduling.BeginAgentTurn: scheduling.begin_agent_turn,
    scheduling.HandOver: scheduling.hand_over,
    scheduling.LearnResumeKey: scheduling.learn_resume_key,
    scheduling.ForgetResumeKey: scheduling.forget_resume_key,
    scheduling.ReportProgress: scheduling.report_progress,
    job_ends.EndJob: job_ends.end_job,
    job_ends.MarkInterrupted: job_ends.mark_interrupted,
    job_ends.TryAgain: job_ends.try_again,
    job_ends.CancelQueued: job_ends.cancel_queued_job,
    job_ends.WithdrawJob: job_ends.withdraw_job,
    questions.AskPerson: questions.ask_person,
    RespondToQuestion: questions.respond_to_question,
    questions.RemindOfQuestion: questions.remind_of_question,
    questions.ExpireQuestion: questions.expire_question,
    questions.WithdrawQuestion: questions.withdraw_question,
    questions.RefuseAgentRequest: questions.refuse_agent_request,
    agent_calls.SendForAgent: agent_calls.send_for_agent,
    agent_calls.AskForAgent: agent_calls.ask_for_agent,
    agent_calls.TitleForAgent: agent_calls.title_for_agent,
    agent_calls.NoteAgentCall: agent_calls.note_agent_call,
    rules.UseRule: rules.use_rule,
    rules.RemoveRule: rules.remove_rule,
    hooks.AddHook: hooks.add_hook,
    hooks.RemoveHook: hooks.remove_hook,
    budgets.SetBudget: budgets.set_budget,
    budgets.AskAboutBudget: budgets.ask_about_budget,
    budgets.CloseBudgetQuestion: budgets.close_budget_question,
    schedules.MakeSchedule: schedules.make_schedule,
    schedules.ConfirmSchedule: schedules.confirm_schedule,
    schedules.PauseSchedule: schedules.pause_schedule,
    schedules.ResumeSchedule: schedules.resume_schedule,
    schedules.RemoveSchedule: schedules.remove_schedule,
    schedules.SettleTick: schedules.settle_tick,
    schedules.RunByHand: schedules.run_by_hand,
    schedules.MoveDue: schedules.move_due,
    worktrees.SetProjectWorktrees: worktrees.set_project_worktrees,
    worktrees.WantWorktree: worktrees.want_worktree,
    worktrees.PlanAgain: worktrees.plan_again,
    worktrees.FinishMaking: worktrees.finish_making,
    worktrees.FailMaking: worktrees.fail_making,
    worktrees.BeginMerge: worktrees.begin_merge,
    worktrees.FinishMerge: worktrees.finish_merge,
    worktrees.StopMerge: worktrees.stop_merge,
    worktrees.BeginDiscard: worktrees.begin_discard,
    worktrees.FinishDiscard: worktrees.finish_discard,
    forks.ForkSession: forks.fork_session,
    forks.SwitchSession: forks.switch_session,
    steering.AskToSteer: steering.ask_to_steer,
    steering.BeginSteering: steering.begin_steering,
    steering.DeclineSteering: steering.decline_steering,
    steering.SettleSteering: steering.settle_steering,
    delivery.PlanDelivery: delivery.plan_delivery,
    delivery.MarkPieceSent: delivery.mark_piece_sent,
    delivery.DeferDelivery: delivery.defer_delivery,
    delivery.Acknowledge: delivery.acknowledge,
    delivery.AbandonDelivery: delivery.abandon_delivery,
    trees.NoteSnapshot: trees.note_snapshot,
    trees.MissSnapshot: trees.miss_snapshot,
    undos.BeginUndo: undos.begin_undo,
    undos.EndUndo: undos.end_undo,
    undos.TellOpenUndo: undos.tell_open_undo,
}
assert set(_DECIDERS) == set(Command.__args__), "every command needs a decider"


def decide(state: State, command: Command, now: str, limits: Limits) -> Decision:
    return _DECIDERS[type(command)](state, command, now, limits)


__all__ = ["NOTHING", "Command", "Decision", "decide"]
