"""Every command, once. Menus, lines, routes of the API, the client and the reference are made of this table.

To add a command, add its request and reply, a specification here, a handler in `flow/commands`, and its words in each
language under `render/words`: `command.WORDS`, `command.WORDS.OPTION`, and `reply.REPLY`.
"""

from typing import Final

from fairlead.core import replies, requests
from fairlead.core.command_spec import ApiRoute, Argument, CommandCatalogue, CommandSpec

_PROJECT: Final = Argument(field="project", choices="project", gap="project")
_ANY_AGENT: Final = Argument(field="tool", required=False, choices="any_tool", placeholder="NAME", gap="tool")
_NAMED_PROJECT: Final = Argument(field="project", option="project_name", choices="project", gap="project")
_MODEL: Final = Argument(field="model", required=False, option="model_id", choices="model", gap="model_id")

_WORKTREE: Final = Argument(field="worktree", kind="yes_no", required=False)
_WORKTREE_NUMBER: Final = Argument(field="number", kind="integer", required=False, choices="worktree")

_ALL_PROJECTS: Final = CommandSpec(
    words="projects",
    request=requests.ProjectList,
    reply=replies.ProjectCatalogue,
    works_on_full_disk=True,
    ways=("menu",),
)

_CONVERSATION: Final = (
    CommandSpec(
        words="start",
        request=requests.Start,
        reply=replies.SessionStarted,
        arguments=(_NAMED_PROJECT, _ANY_AGENT, _WORKTREE),
        fixed={"agent_first": False},
        ways=("menu",),
    ),
    CommandSpec(
        words="status",
        request=requests.Status,
        reply=replies.StatusReport,
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/status"),),
    ),
    CommandSpec(
        words="tool",
        request=requests.Tool,
        reply=replies.ToolSet,
        arguments=(Argument(field="tool", required=False, choices="tool", placeholder="NAME", gap="tool"),),
        routes=(ApiRoute(method="POST", path="/v1/tool", schema="ToolChoice"),),
    ),
    CommandSpec(
        words="retry",
        request=requests.Retry,
        reply=replies.JobQueued,
        arguments=(Argument(field="job_id", required=False, choices="retryable", gap="job"),),
        routes=(
            ApiRoute(
                method="POST",
                path="/v1/retry",
                operation="post_retry_last",
                summary="Retry the last failed or interrupted job of this person's session.",
            ),
            ApiRoute(method="POST", path="/v1/jobs/{job_id}/retry", user="optional", operation="post_retry"),
        ),
    ),
    CommandSpec(
        words="jobs",
        request=requests.LatestJobs,
        reply=replies.JobCatalogue,
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/jobs"),),
    ),
    CommandSpec(
        words="cancel",
        request=requests.Cancel,
        reply=replies.JobsCancelled,
        arguments=(
            Argument(field="job_id", required=False, choices="live", ways=("line",)),
            Argument(field="children", kind="yes_no", required=False),
        ),
        works_on_full_disk=True,
        routes=(
            ApiRoute(method="POST", path="/v1/cancel", schema="Cancellation"),
            ApiRoute(
                method="POST",
                path="/v1/jobs/{job_id}/cancel",
                user="optional",
                operation="post_cancel_job",
                schema="JobCancellation",
                summary="Cancel one job.",
                at_job=True,
            ),
        ),
    ),
    CommandSpec(
        words="reset",
        request=requests.Reset,
        reply=replies.SessionWasReset,
        routes=(ApiRoute(method="POST", path="/v1/reset"),),
    ),
    CommandSpec(
        words="why",
        request=requests.Why,
        reply=replies.Story,
        arguments=(
            Argument(
                field="subject",
                kind="message",
                required=False,
                choices="job",
                option="message",
                placeholder="JOB|MESSAGE",
            ),
        ),
        routes=(ApiRoute(method="GET", path="/v1/why", user="optional", schema="WhyQuery"),),
    ),
    CommandSpec(
        words="spawn",
        request=requests.Spawn,
        reply=replies.Spawned,
        arguments=(
            Argument(field="task", kind="words"),
            Argument(field="project", required=False, choices="project", gap="project"),
            Argument(field="agent", required=False, choices="any_tool", gap="tool"),
            _WORKTREE,
        ),
        routes=(ApiRoute(method="POST", path="/v1/spawn", schema="SpawnTask"),),
    ),
    CommandSpec(
        words="fork",
        request=requests.Fork,
        reply=replies.SessionForkMade,
        arguments=(Argument(field="job_id", required=False, choices="job", ways=("line",)), _WORKTREE),
        routes=(ApiRoute(method="POST", path="/v1/fork", schema="ForkWish"),),
    ),
    CommandSpec(
        words="steer",
        request=requests.SteerTurn,
        reply=replies.TurnSteered,
        arguments=(
            Argument(field="text", kind="words", required=False, placeholder="TEXT|JOB"),
            Argument(field="job_id", required=False, choices="live", ways=()),
        ),
        routes=(
            ApiRoute(method="POST", path="/v1/steer", schema="SteeringText"),
            ApiRoute(
                method="POST",
                path="/v1/jobs/{job_id}/steer",
                user="optional",
                operation="post_steer_job",
                schema="JobSteering",
                summary="Give a message that waits to the turn that runs in its session.",
                at_job=True,
            ),
        ),
    ),
)

_RULES: Final = (
    CommandSpec(
        words="rules list",
        request=requests.RuleList,
        reply=replies.RuleCatalogue,
        works_on_full_disk=True,
        ways=("menu",),
    ),
    CommandSpec(
        words="rules remove",
        request=requests.RuleRemove,
        reply=replies.RuleWasRemoved,
        arguments=(Argument(field="number", kind="integer", choices="rule"),),
        who="the owner",
        routes=(
            ApiRoute(method="POST", path="/v1/rules/{number}/remove", user="optional", operation="post_remove_rule"),
        ),
    ),
    CommandSpec(
        words="rules",
        request=requests.RuleList,
        reply=replies.RuleCatalogue,
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/rules", user="optional"),),
        ways=("line",),
    ),
)
_HOOKS: Final = (
    CommandSpec(
        words="hook add",
        request=requests.HookAdd,
        reply=replies.HookMade,
        arguments=(
            Argument(field="name"),
            Argument(field="template", required=False),
            Argument(field="events", kind="list", required=False),
            Argument(field="where", kind="list", required=False, example="action=completed, a list of path=value."),
            Argument(field="form", required=False, choices=("github", "signed")),
            Argument(field="project", required=False, choices="project", gap="project"),
            Argument(field="tool", required=False, choices="any_tool", gap="tool"),
            Argument(field="session", required=False, choices=("own", "here")),
        ),
        who="the owner",
        routes=(ApiRoute(method="POST", path="/v1/hooks", user="optional", operation="post_hook", schema="NewHook"),),
    ),
    CommandSpec(
        words="hook list",
        request=requests.HookList,
        reply=replies.HookCatalogue,
        who="the owner",
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/hooks", user="absent"),),
    ),
    CommandSpec(
        words="hook remove",
        request=requests.HookRemove,
        reply=replies.HookWasRemoved,
        arguments=(Argument(field="name", choices="hook"),),
        who="the owner",
        routes=(
            ApiRoute(method="POST", path="/v1/hooks/{name}/remove", user="optional", operation="post_remove_hook"),
        ),
    ),
    CommandSpec(
        words="hook test",
        request=requests.HookTest,
        reply=replies.HookTested,
        arguments=(Argument(field="name", choices="hook"),),
        who="the owner",
        routes=(ApiRoute(method="POST", path="/v1/hooks/{name}/test", user="optional", operation="post_test_hook"),),
    ),
)

_BUDGETS: Final = (
    CommandSpec(
        words="budget show",
        request=requests.BudgetShow,
        reply=replies.BudgetReport,
        arguments=(Argument(field="project", required=False, choices="project", gap="project"),),
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/budgets", user="absent", schema="BudgetQuery"),),
    ),
    CommandSpec(
        words="budget set",
        request=requests.BudgetChange,
        reply=replies.BudgetReport,
        arguments=(
            _PROJECT,
            Argument(field="usd", required=False, example="2.50, an amount in US dollars."),
            Argument(field="tokens", kind="integer", required=False),
        ),
        who="the owner",
        routes=(
            ApiRoute(
                method="POST",
                path="/v1/budgets/{project}",
                user="optional",
                operation="post_budget",
                schema="NewBudget",
            ),
        ),
    ),
    CommandSpec(
        words="budget clear",
        request=requests.BudgetClear,
        reply=replies.BudgetReport,
        arguments=(_PROJECT,),
        who="the owner",
        routes=(
            ApiRoute(method="POST", path="/v1/budgets/{project}/clear", user="optional", operation="post_clear_budget"),
        ),
    ),
)

_WORKTREES: Final = (
    CommandSpec(
        words="worktree make",
        request=requests.WorktreeMake,
        reply=replies.WorktreeShown,
        arguments=(Argument(field="project", required=False, choices="project", gap="project"),),
        routes=(ApiRoute(method="POST", path="/v1/worktree", schema="NewWorktree"),),
    ),
    CommandSpec(
        words="worktree show",
        request=requests.WorktreeShow,
        reply=replies.WorktreeShown,
        arguments=(_WORKTREE_NUMBER,),
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/worktree", schema="WorktreeQuery"),),
    ),
    CommandSpec(
        words="worktree list",
        request=requests.WorktreeList,
        reply=replies.WorktreeCatalogue,
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/worktrees", user="optional"),),
    ),
    CommandSpec(
        words="worktree restore",
        request=requests.WorktreeRestore,
        reply=replies.WorktreeShown,
        arguments=(Argument(field="number", kind="integer", choices="discarded_worktree"),),
        routes=(ApiRoute(method="POST", path="/v1/worktrees/{number}/restore", operation="post_restore_worktree"),),
    ),
    CommandSpec(
        words="merge",
        request=requests.Merge,
        reply=replies.WorktreeWasMerged,
        arguments=(_WORKTREE_NUMBER, Argument(field="uncommitted", required=False, choices=("refuse", "leave"))),
        routes=(ApiRoute(method="POST", path="/v1/merge", schema="WorktreeMerge"),),
    ),
    CommandSpec(
        words="discard",
        request=requests.Discard,
        reply=replies.WorktreeWasDiscarded,
        arguments=(_WORKTREE_NUMBER, Argument(field="confirm", kind="yes_no", required=False)),
        routes=(ApiRoute(method="POST", path="/v1/discard", schema="WorktreeDiscard"),),
    ),
)

_SCHEDULE_NUMBER: Final = Argument(field="number", kind="integer", choices="schedule")

_SCHEDULES: Final = (
    CommandSpec(
        words="schedule add",
        request=requests.ScheduleAdd,
        reply=replies.ScheduleShown,
        arguments=(
            Argument(field="when"),
            Argument(field="text"),
            Argument(field="zone", required=False),
            Argument(field="session", required=False, choices=("here", "own", "fresh")),
            Argument(field="missed", required=False, choices=("run", "skip")),
            Argument(field="overlap", required=False, choices=("skip", "queue")),
            Argument(field="ring", required=False, choices=("usual", "always", "needed", "never")),
            Argument(field="tell", kind="list", required=False),
            Argument(field="check", required=False),
            Argument(field="project", required=False, choices="project", gap="project"),
        ),
        routes=(ApiRoute(method="POST", path="/v1/schedules", operation="post_schedule", schema="NewSchedule"),),
    ),
    CommandSpec(
        words="schedule confirm",
        request=requests.ScheduleConfirm,
        reply=replies.ScheduleShown,
        arguments=(Argument(field="number", kind="integer", required=False, choices="schedule"),),
        routes=(ApiRoute(method="POST", path="/v1/schedules/confirm", operation="post_confirm_schedule"),),
    ),
    CommandSpec(
        words="schedule list",
        request=requests.ScheduleList,
        reply=replies.ScheduleCatalogue,
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/schedules", user="optional"),),
    ),
    CommandSpec(
        words="schedule pause",
        request=requests.SchedulePause,
        reply=replies.ScheduleShown,
        arguments=(_SCHEDULE_NUMBER,),
        routes=(ApiRoute(method="POST", path="/v1/schedules/{number}/pause", operation="post_pause_schedule"),),
    ),
    CommandSpec(
        words="schedule resume",
        request=requests.ScheduleResume,
        reply=replies.ScheduleShown,
        arguments=(_SCHEDULE_NUMBER,),
        routes=(ApiRoute(method="POST", path="/v1/schedules/{number}/resume", operation="post_resume_schedule"),),
    ),
    CommandSpec(
        words="schedule remove",
        request=requests.ScheduleRemove,
        reply=replies.ScheduleShown,
        arguments=(_SCHEDULE_NUMBER,),
        routes=(ApiRoute(method="POST", path="/v1/schedules/{number}/remove", operation="post_remove_schedule"),),
    ),
    CommandSpec(
        words="schedule run",
        request=requests.ScheduleRun,
        reply=replies.ScheduleRan,
        arguments=(_SCHEDULE_NUMBER,),
        routes=(ApiRoute(method="POST", path="/v1/schedules/{number}/run", operation="post_run_schedule"),),
    ),
)

_OTHER_WORDS: Final = (
    CommandSpec(
        words="budget",
        request=requests.BudgetShow,
        reply=replies.BudgetReport,
        works_on_full_disk=True,
        ways=("line",),
    ),
    CommandSpec(
        words="hook",
        request=requests.HookList,
        reply=replies.HookCatalogue,
        who="the owner",
        works_on_full_disk=True,
        ways=("line",),
    ),
    CommandSpec(words="new", request=requests.Reset, reply=replies.SessionWasReset, ways=("line",)),
    CommandSpec(words="clear", request=requests.Reset, reply=replies.SessionWasReset, ways=("line",)),
    CommandSpec(
        words="stop", request=requests.Cancel, reply=replies.JobsCancelled, works_on_full_disk=True, ways=("line",)
    ),
    CommandSpec(
        words="model", request=requests.AgentModel, reply=replies.ModelSet, arguments=(_MODEL,), ways=("line",)
    ),
    CommandSpec(
        words="project",
        request=requests.ProjectList,
        reply=replies.ProjectCatalogue,
        works_on_full_disk=True,
        ways=("line",),
    ),
    CommandSpec(
        words="schedule",
        request=requests.ScheduleList,
        reply=replies.ScheduleCatalogue,
        works_on_full_disk=True,
        ways=("line",),
    ),
    CommandSpec(
        words="session",
        request=requests.SessionList,
        reply=replies.SessionCatalogue,
        works_on_full_disk=True,
        ways=("line",),
    ),
    CommandSpec(
        words="worktree",
        request=requests.WorktreeShow,
        reply=replies.WorktreeShown,
        works_on_full_disk=True,
        ways=("line",),
    ),
    CommandSpec(
        words="agent",
        request=requests.AgentStatus,
        reply=replies.AgentReport,
        works_on_full_disk=True,
        ways=("line",),
    ),
)
"""What people type who know other programs, and the groups by themselves: a menu has neither."""

_SESSIONS: Final = (
    CommandSpec(
        words="session list",
        request=requests.SessionList,
        reply=replies.SessionCatalogue,
        arguments=(Argument(field="project", required=False, option="project_name", choices="project", gap="project"),),
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/sessions", user="absent", schema="SessionsQuery", pages=True),),
    ),
    CommandSpec(
        words="session open",
        request=requests.SessionOpen,
        reply=replies.SessionFound,
        arguments=(Argument(field="session_id", choices="session", gap="session"),),
        works_on_full_disk=True,
        ways=("menu",),
    ),
    CommandSpec(
        words="session adopt",
        request=requests.SessionAdopt,
        reply=replies.SessionAdoption,
        arguments=(
            Argument(field="key", required=False, option="id", placeholder="ID", choices="stored_session"),
            Argument(field="tool", required=False, choices="tool", gap="tool"),
        ),
        who="the owner",
        routes=(ApiRoute(method="POST", path="/v1/session/adopt", schema="SessionChoice"),),
    ),
    CommandSpec(
        words="session stored",
        request=requests.StoredSessionList,
        reply=replies.StoredSessionCatalogue,
        arguments=(Argument(field="tool", required=False, ways=(), gap="tool"),),
        who="the owner",
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/session/stored", schema="StoredSessionsQuery"),),
        ways=(),
    ),
    CommandSpec(
        words="handoff",
        request=requests.HandSession,
        reply=replies.SessionHandOff,
        arguments=(Argument(field="action", required=False, placeholder="back", choices=("back",)),),
        who="the owner",
        routes=(ApiRoute(method="POST", path="/v1/handoff", schema="HandOffAction"),),
    ),
)

_SWITCH: Final = CommandSpec(
    words="session switch",
    request=requests.SessionSwitch,
    reply=replies.SessionSwitched,
    arguments=(Argument(field="session_id", required=False, choices="session", gap="session"),),
    routes=(ApiRoute(method="POST", path="/v1/session/switch", schema="SessionSwitchBody"),),
)

_PROJECTS: Final = (
    CommandSpec(
        words="project create",
        request=requests.ProjectCreate,
        reply=replies.ProjectInfo,
        arguments=(
            Argument(field="name"),
            Argument(field="path", kind="path"),
            Argument(field="tools", kind="list", option="tools_csv", choices="any_tool"),
            Argument(field="default_tool", choices="any_tool"),
            Argument(
                field="args",
                kind="json",
                required=False,
                option="args_json",
                placeholder="ARGS_JSON",
                example='{"claude": ["--model", "opus"]}, an object of lists.',
            ),
        ),
        routes=(
            ApiRoute(method="POST", path="/v1/projects", user="absent", operation="post_project", schema="NewProject"),
        ),
    ),
    CommandSpec(
        words="project list",
        request=requests.ProjectList,
        reply=replies.ProjectCatalogue,
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/projects", user="optional"),),
    ),
    CommandSpec(
        words="project status",
        request=requests.ProjectStatus,
        reply=replies.ProjectReport,
        arguments=(_NAMED_PROJECT,),
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/projects/{project}", user="absent", operation="get_project"),),
    ),
    CommandSpec(
        words="project add",
        request=requests.ProjectAdd,
        reply=replies.ProjectInfo,
        arguments=(Argument(field="path", kind="path", gap="path"),),
        routes=(
            ApiRoute(
                method="POST",
                path="/v1/projects/add",
                user="absent",
                operation="post_directory",
                schema="NewDirectory",
            ),
        ),
    ),
    CommandSpec(
        words="project rename",
        request=requests.ProjectRename,
        reply=replies.RenamedProject,
        arguments=(_PROJECT, Argument(field="new_name")),
        who="the owner",
        routes=(ApiRoute(method="POST", path="/v1/projects/{project}/rename", user="absent", operation="post_rename"),),
    ),
    CommandSpec(
        words="project remove",
        request=requests.ProjectRemove,
        reply=replies.RemovedProject,
        arguments=(_PROJECT,),
        who="the owner",
        routes=(ApiRoute(method="POST", path="/v1/projects/{project}/remove", user="absent", operation="post_remove"),),
    ),
    CommandSpec(
        words="project switch",
        request=requests.ProjectSwitch,
        reply=replies.ProjectSelected,
        arguments=(_PROJECT,),
        routes=(ApiRoute(method="POST", path="/v1/projects/switch", operation="post_switch", schema="ProjectChoice"),),
    ),
    CommandSpec(
        words="project worktree",
        request=requests.ProjectWorktrees,
        reply=replies.ProjectWorktreesChosen,
        arguments=(_PROJECT, Argument(field="worktree", kind="yes_no")),
        who="the owner",
        routes=(
            ApiRoute(
                method="POST",
                path="/v1/projects/{project}/worktree",
                user="absent",
                operation="post_project_worktree",
                schema="WorktreeDefault",
            ),
        ),
    ),
)

_AGENTS: Final = (
    CommandSpec(
        words="agent start",
        request=requests.Start,
        reply=replies.SessionStarted,
        arguments=(
            Argument(field="project", kind="integer", option="project_id", choices="project_number", gap="project"),
            _ANY_AGENT,
            _WORKTREE,
        ),
        fixed={"agent_first": True},
        routes=(ApiRoute(method="POST", path="/v1/agent/start", operation="post_agent_start", schema="AgentStart"),),
    ),
    CommandSpec(
        words="agent stop",
        request=requests.AgentStop,
        reply=replies.AgentStopped,
        fixed={"kill": False},
        works_on_full_disk=True,
        routes=(ApiRoute(method="POST", path="/v1/agent/stop", operation="post_stop"),),
    ),
    CommandSpec(
        words="agent kill",
        request=requests.AgentStop,
        reply=replies.AgentStopped,
        fixed={"kill": True},
        works_on_full_disk=True,
        routes=(ApiRoute(method="POST", path="/v1/agent/kill", operation="post_kill"),),
    ),
    CommandSpec(
        words="agent status",
        request=requests.AgentStatus,
        reply=replies.AgentReport,
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/agent"),),
    ),
    CommandSpec(
        words="agent model",
        request=requests.AgentModel,
        reply=replies.ModelSet,
        arguments=(_MODEL,),
        routes=(ApiRoute(method="POST", path="/v1/agent/model", operation="post_model", schema="ModelChoice"),),
    ),
    CommandSpec(
        words="agent mode",
        request=requests.AgentMode,
        reply=replies.ModeSet,
        arguments=(Argument(field="mode", required=False, choices="mode"),),
        who="the owner",
        works_on_full_disk=True,
        routes=(ApiRoute(method="POST", path="/v1/agent/mode", operation="post_mode", schema="ModeChoice"),),
    ),
    CommandSpec(
        words="agent command",
        request=requests.AgentSlashCommand,
        reply=replies.CommandSent,
        arguments=(
            Argument(field="name", choices="agent_command"),
            Argument(field="text", required=False),
        ),
        routes=(ApiRoute(method="POST", path="/v1/agent/command", schema="AgentCommand"),),
    ),
    CommandSpec(
        words="agent usage",
        request=requests.AgentUsage,
        reply=replies.UsageReport,
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/agent/usage", operation="get_usage"),),
    ),
)

_CONFIGURED_AGENTS: Final = (
    CommandSpec(
        words="agent list",
        request=requests.AgentList,
        reply=replies.AgentCatalogue,
        who="the owner",
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/agents", user="absent"),),
        ways=(),
    ),
    CommandSpec(
        words="agent check",
        request=requests.AgentCheck,
        reply=replies.AgentsChecked,
        who="the owner",
        works_on_full_disk=True,
        routes=(ApiRoute(method="POST", path="/v1/agents/check", user="absent", operation="post_check_agents"),),
        ways=(),
    ),
    CommandSpec(
        words="agent add",
        request=requests.AgentAdd,
        reply=replies.AgentAdded,
        arguments=(
            Argument(field="name", ways=()),
            Argument(field="command", kind="list", ways=()),
            Argument(field="env", kind="list", required=False, ways=()),
            Argument(field="version", required=False, ways=()),
            Argument(field="digest", required=False, ways=()),
            Argument(field="source", required=False, ways=()),
            Argument(field="projects", kind="list", required=False, ways=()),
        ),
        who="the owner",
        routes=(ApiRoute(method="POST", path="/v1/agents", user="absent", schema="NewAgent"),),
        ways=(),
    ),
    CommandSpec(
        words="agent remove",
        request=requests.AgentRemove,
        reply=replies.AgentWasRemoved,
        arguments=(Argument(field="name", ways=()), Argument(field="even_if_used", required=False, ways=())),
        who="the owner",
        routes=(
            ApiRoute(
                method="POST",
                path="/v1/agents/{name}/remove",
                user="absent",
                operation="post_remove_agent",
                schema="AgentRemoval",
            ),
        ),
        ways=(),
    ),
)
"""Offered to programs that hold the owner's token, `fairlead agent` before all: an agent is a program of this machine,
and nobody should name one from a chat."""

_MACHINE: Final = Argument(field="name", choices="machine", gap="machine")

_MACHINES: Final = (
    CommandSpec(
        words="machine list",
        request=requests.MachineList,
        reply=replies.MachineCatalogue,
        who="the owner",
        works_on_full_disk=True,
        routes=(ApiRoute(method="GET", path="/v1/machines", user="absent"),),
    ),
    CommandSpec(
        words="machine rename",
        request=requests.MachineRename,
        reply=replies.RenamedMachine,
        arguments=(_MACHINE, Argument(field="new_name")),
        who="the owner",
        routes=(
            ApiRoute(method="POST", path="/v1/machines/{name}/rename", user="absent", operation="post_rename_machine"),
        ),
    ),
    CommandSpec(
        words="machine remove",
        request=requests.MachineRemove,
        reply=replies.MachineWasRemoved,
        arguments=(_MACHINE,),
        who="the owner",
        routes=(
            ApiRoute(method="POST", path="/v1/machines/{name}/remove", user="absent", operation="post_remove_machine"),
        ),
    ),
    CommandSpec(
        words="machine forget",
        request=requests.MachineForget,
        reply=replies.MachineWasRemoved,
        arguments=(_MACHINE,),
        who="the owner",
        routes=(
            ApiRoute(method="POST", path="/v1/machines/{name}/forget", user="absent", operation="post_forget_machine"),
        ),
    ),
    CommandSpec(
        words="machine add",
        request=requests.MachineAdd,
        reply=replies.MachineMayJoin,
        arguments=(Argument(field="name", ways=()),),
        who="the owner",
        routes=(ApiRoute(method="POST", path="/v1/machines", user="absent", schema="NewMachine"),),
        ways=(),
    ),
)
"""A key is made from the command line alone: the reply holds it, and no chat should."""

_FILES: Final = (
    CommandSpec(
        words="changes",
        request=requests.Changes,
        reply=replies.ChangesShown,
        arguments=(
            Argument(field="job_id", required=False, choices="job", gap="job", placeholder="JOB|session"),
            Argument(field="scope", required=False, choices=("turn", "session")),
        ),
        works_on_full_disk=True,
        routes=(
            ApiRoute(method="GET", path="/v1/changes", schema="ChangesQuery"),
            ApiRoute(
                method="GET",
                path="/v1/jobs/{job_id}/changes",
                user="optional",
                operation="get_job_changes",
                schema="JobChangesQuery",
            ),
        ),
    ),
    CommandSpec(
        words="undo",
        request=requests.Undo,
        reply=replies.TurnsUndone,
        arguments=(
            Argument(field="job_id", required=False, choices="job", gap="job"),
            Argument(field="turns", required=False, choices=("this", "since")),
            Argument(field="what", required=False, choices=("both", "files", "talk")),
        ),
        routes=(
            ApiRoute(method="POST", path="/v1/undo", schema="UndoLatest"),
            ApiRoute(
                method="POST",
                path="/v1/jobs/{job_id}/undo",
                user="optional",
                operation="post_undo_job",
                schema="UndoJob",
                summary="Undo one job, or everything since it.",
            ),
        ),
    ),
    CommandSpec(
        words="redo",
        request=requests.Redo,
        reply=replies.TurnsUndone,
        routes=(ApiRoute(method="POST", path="/v1/redo"),),
    ),
)

COMMANDS: Final = CommandCatalogue(
    (
        _ALL_PROJECTS,
        *_CONVERSATION,
        *_FILES,
        *_PROJECTS,
        *_RULES,
        *_HOOKS,
        *_BUDGETS,
        *_SCHEDULES,
        *_WORKTREES,
        *_SESSIONS,
        _SWITCH,
        *_AGENTS,
        *_CONFIGURED_AGENTS,
        *_MACHINES,
        *_OTHER_WORDS,
    )
)
