"""Every command, once. Menus, lines, routes of the API, the client and the reference are made of this table.

To add a command, add its request and reply, a specification here, a handler in `flow/commands`, and its words in each
language under `render/words`: `command.WORDS`, `command.WORDS.OPTION`, and `reply.REPLY`.
"""

from typing import Final

from fairlead.core import replies, requests
from fairlead.core.command_spec import ApiRoute, Argument, CommandCatalogue, CommandSpec

_PROJECT: Final = Argument(field="project", choices="project", gap="project")
_NAMED_PROJECT: Final = Argument(field="project", option="project_name", choices="project", gap="project")

_ALL_PROJECTS: Final = CommandSpec(
    words="projects",
    request=requests.ProjectList,
    reply=replies.ProjectCatalogue,
    works_without_room=True,
    ways=("menu",),
)

_CONVERSATION: Final = (
    CommandSpec(
        words="start",
        request=requests.Start,
        reply=replies.SessionStarted,
        arguments=(_NAMED_PROJECT,),
        ways=("menu",),
    ),
    CommandSpec(
        words="status",
        request=requests.Status,
        reply=replies.StatusReport,
        works_without_room=True,
        routes=(ApiRoute(method="GET", path="/v1/status"),),
    ),
    CommandSpec(
        words="tool",
        request=requests.Tool,
        reply=replies.ToolSet,
        arguments=(Argument(field="tool", choices="tool", placeholder="NAME", gap="tool"),),
        routes=(ApiRoute(method="POST", path="/v1/tool", schema="ToolChoice"),),
    ),
    CommandSpec(
        words="retry",
        request=requests.Retry,
        reply=replies.JobQueued,
        arguments=(Argument(field="job_id", choices="retryable", gap="job"),),
        routes=(ApiRoute(method="POST", path="/v1/jobs/{job_id}/retry", user="optional", operation="post_retry"),),
    ),
    CommandSpec(
        words="cancel",
        request=requests.Cancel,
        reply=replies.JobsCancelled,
        arguments=(Argument(field="job_id", required=False, ways=("line",)),),
        works_without_room=True,
        routes=(
            ApiRoute(method="POST", path="/v1/cancel"),
            ApiRoute(
                method="POST",
                path="/v1/jobs/{job_id}/cancel",
                user="optional",
                operation="post_cancel_job",
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
        arguments=(Argument(field="subject", kind="message", option="message", placeholder="JOB|MESSAGE"),),
        routes=(ApiRoute(method="GET", path="/v1/why", user="absent", schema="WhyQuery"),),
    ),
)

_SESSIONS: Final = (
    CommandSpec(
        words="session list",
        request=requests.SessionList,
        reply=replies.SessionCatalogue,
        arguments=(Argument(field="project", required=False, option="project_name", choices="project", gap="project"),),
        works_without_room=True,
        routes=(ApiRoute(method="GET", path="/v1/sessions", user="absent", schema="SessionsQuery"),),
    ),
    CommandSpec(
        words="session open",
        request=requests.SessionOpen,
        reply=replies.SessionFound,
        arguments=(Argument(field="session_id", choices="session", gap="session"),),
        works_without_room=True,
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
            Argument(field="path"),
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
        works_without_room=True,
        routes=(ApiRoute(method="GET", path="/v1/projects", user="optional"),),
    ),
    CommandSpec(
        words="project status",
        request=requests.ProjectStatus,
        reply=replies.ProjectReport,
        arguments=(_NAMED_PROJECT,),
        works_without_room=True,
        routes=(ApiRoute(method="GET", path="/v1/projects/{project}", user="absent", operation="get_project"),),
    ),
    CommandSpec(
        words="project add",
        request=requests.ProjectAdd,
        reply=replies.ProjectInfo,
        arguments=(Argument(field="path", gap="path"),),
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
        ),
        ways=("menu",),
    ),
    CommandSpec(
        words="agent stop",
        request=requests.AgentStop,
        reply=replies.AgentStopped,
        fixed={"kill": False},
        works_without_room=True,
        routes=(ApiRoute(method="POST", path="/v1/agent/stop", operation="post_stop"),),
    ),
    CommandSpec(
        words="agent kill",
        request=requests.AgentStop,
        reply=replies.AgentStopped,
        fixed={"kill": True},
        works_without_room=True,
        routes=(ApiRoute(method="POST", path="/v1/agent/kill", operation="post_kill"),),
    ),
    CommandSpec(
        words="agent status",
        request=requests.AgentStatus,
        reply=replies.AgentReport,
        works_without_room=True,
        routes=(ApiRoute(method="GET", path="/v1/agent"),),
    ),
    CommandSpec(
        words="agent model",
        request=requests.AgentModel,
        reply=replies.ModelSet,
        arguments=(Argument(field="model", option="model_id", choices="model", gap="model_id"),),
        routes=(ApiRoute(method="POST", path="/v1/agent/model", operation="post_model", schema="ModelChoice"),),
    ),
    CommandSpec(
        words="agent mode",
        request=requests.AgentMode,
        reply=replies.ModeSet,
        arguments=(Argument(field="mode", choices="mode"),),
        who="the owner",
        works_without_room=True,
        routes=(ApiRoute(method="POST", path="/v1/agent/mode", operation="post_mode", schema="ModeChoice"),),
    ),
    CommandSpec(
        words="agent usage",
        request=requests.AgentUsage,
        reply=replies.UsageReport,
        works_without_room=True,
        routes=(ApiRoute(method="GET", path="/v1/agent/usage", operation="get_usage"),),
    ),
)

COMMANDS: Final = CommandCatalogue((_ALL_PROJECTS, *_CONVERSATION, *_PROJECTS, *_SESSIONS, *_AGENTS))
