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
        arguments=(_NAMED_PROJECT, _ANY_AGENT),
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
        ),
        routes=(ApiRoute(method="POST", path="/v1/spawn", schema="SpawnTask"),),
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
_OTHER_WORDS: Final = (
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
        words="session",
        request=requests.SessionList,
        reply=replies.SessionCatalogue,
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
)

_AGENTS: Final = (
    CommandSpec(
        words="agent start",
        request=requests.Start,
        reply=replies.SessionStarted,
        arguments=(
            Argument(field="project", kind="integer", option="project_id", choices="project_number", gap="project"),
            _ANY_AGENT,
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

COMMANDS: Final = CommandCatalogue(
    (
        _ALL_PROJECTS,
        *_CONVERSATION,
        *_PROJECTS,
        *_RULES,
        *_SESSIONS,
        *_AGENTS,
        *_CONFIGURED_AGENTS,
        *_OTHER_WORDS,
    )
)
