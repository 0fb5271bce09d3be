"""The slash commands: their names, arguments and choices. What they do is behind the desk."""

from typing import Any, cast

import discord
from discord import app_commands
from discord.app_commands import Choice, locale_str

from fairlead.channels.discord.commands.reply_format import added_project, numbered_projects
from fairlead.channels.discord.commands.runner import CHOICE_LENGTH, CommandRunner, Interaction
from fairlead.channels.discord.inbound.places import message_named
from fairlead.core import requests as ask
from fairlead.errors import Code
from fairlead.observe import log_failure
from fairlead.render.words import error_line, say


def text(key: str) -> locale_str:
    """A description with its key: the translator finds it in the catalogues."""
    return locale_str(say("en", f"command.{key}"), key=key)


def runner_of(interaction: Interaction) -> CommandRunner:
    return interaction.client.command_runner


def _named(project: str) -> dict[str, str]:
    return {"id": project} if project.isdecimal() else {"project": project[:60]}


# --- what can be known while typing


async def projects(interaction: Interaction, typed: str) -> list[Choice[str]]:
    return runner_of(interaction).choices(interaction, "project", typed)


async def project_numbers(interaction: Interaction, typed: str) -> list[Choice[int]]:
    command_runner = runner_of(interaction)
    known = command_runner.view.projects()
    fitting = [p for p in known if typed.lower() in f"{p.number} {p.name}".lower() and not p.disabled]
    return [Choice(name=f"{p.number}: {p.name}", value=p.number) for p in fitting[:25]]


async def tools(interaction: Interaction, typed: str) -> list[Choice[str]]:
    return runner_of(interaction).choices(interaction, "tool", typed)


async def any_tool(interaction: Interaction, typed: str) -> list[Choice[str]]:
    return runner_of(interaction).choices(interaction, "any_tool", typed)


async def any_tools(interaction: Interaction, typed: str) -> list[Choice[str]]:
    """The tool that is being typed, behind those that stand there already."""
    before, comma, last = typed.rpartition(",")
    named = {each.strip() for each in before.split(",")}
    fitting = [c.value for c in await any_tool(interaction, last) if c.value not in named]
    lists = [f"{before}{comma}{tool}" for tool in fitting]
    return [Choice(name=each, value=each) for each in lists if len(each) <= CHOICE_LENGTH]


async def sessions(interaction: Interaction, typed: str) -> list[Choice[str]]:
    return runner_of(interaction).choices(interaction, "session", typed)


async def retryable(interaction: Interaction, typed: str) -> list[Choice[str]]:
    return runner_of(interaction).choices(interaction, "retryable", typed)


async def models(interaction: Interaction, typed: str) -> list[Choice[str]]:
    return runner_of(interaction).choices(interaction, "model", typed)


async def modes(interaction: Interaction, typed: str) -> list[Choice[str]]:
    return runner_of(interaction).choices(interaction, "mode", typed)


# --- projects

project = app_commands.Group(name="project", description=text("project"))


@project.command(name="create", description=text("project.create"))
@app_commands.describe(
    name=text("project.create.name"),
    path=text("project.create.path"),
    tools_csv=text("project.create.tools_csv"),
    default_tool=text("project.create.default_tool"),
    args_json=text("project.create.args_json"),
)
@app_commands.autocomplete(tools_csv=any_tools, default_tool=any_tool)
async def project_create(  # noqa: PLR0917 - arguments of a slash command
    interaction: Interaction, name: str, path: str, tools_csv: str, default_tool: str, args_json: str = ""
) -> None:
    request = ask.ProjectCreate(name, path, tools_csv, default_tool, args_json)
    await runner_of(interaction).answer(interaction, request)


@project.command(name="list", description=text("project.list"))
async def project_list(interaction: Interaction) -> None:
    await runner_of(interaction).answer(interaction, ask.ProjectList())


@project.command(name="status", description=text("project.status"))
@app_commands.describe(project_name=text("project.status.project_name"))
@app_commands.autocomplete(project_name=projects)
async def project_status(interaction: Interaction, project_name: str) -> None:
    await runner_of(interaction).answer(interaction, ask.ProjectStatus(project_name), named=_named(project_name))


@project.command(name="add", description=text("project.add"))
@app_commands.describe(path=text("project.add.path"))
async def project_add(interaction: Interaction, path: str) -> None:
    await runner_of(interaction).answer(interaction, ask.ProjectAdd(path), added_project, named={"path": path[:200]})


@project.command(name="switch", description=text("project.switch"))
@app_commands.describe(project=text("project.switch.project"))
@app_commands.autocomplete(project=projects)
async def project_switch(interaction: Interaction, project: str) -> None:
    await runner_of(interaction).answer(interaction, ask.ProjectSwitch(project), named=_named(project))


@app_commands.command(name="projects", description=text("projects"))
async def all_projects(interaction: Interaction) -> None:
    await runner_of(interaction).answer(interaction, ask.ProjectList(), numbered_projects)


# --- sessions


@app_commands.command(name="start", description=text("start"))
@app_commands.describe(project_name=text("start.project_name"))
@app_commands.autocomplete(project_name=projects)
async def start(interaction: Interaction, project_name: str) -> None:
    await runner_of(interaction).start(interaction, project_name, named=_named(project_name))


session = app_commands.Group(name="session", description=text("session"))


@session.command(name="list", description=text("session.list"))
@app_commands.describe(project_name=text("session.list.project_name"))
@app_commands.autocomplete(project_name=projects)
async def session_list(interaction: Interaction, project_name: str = "") -> None:
    named = _named(project_name) if project_name else {}
    await runner_of(interaction).answer(interaction, ask.SessionList(project_name), named=named)


@session.command(name="open", description=text("session.open"))
@app_commands.describe(session_id=text("session.open.session_id"))
@app_commands.autocomplete(session_id=sessions)
async def session_open(interaction: Interaction, session_id: str) -> None:
    await runner_of(interaction).open_session(interaction, session_id)


@app_commands.command(name="status", description=text("status"))
async def status(interaction: Interaction) -> None:
    await runner_of(interaction).answer(interaction, ask.Status())


@app_commands.command(name="tool", description=text("tool"))
@app_commands.describe(tool=text("tool.tool"))
@app_commands.autocomplete(tool=tools)
async def tool(interaction: Interaction, tool: str) -> None:
    await runner_of(interaction).answer(interaction, ask.Tool(tool), named={"tool": tool[:40]})


@app_commands.command(name="retry", description=text("retry"))
@app_commands.describe(job_id=text("retry.job_id"))
@app_commands.autocomplete(job_id=retryable)
async def retry(interaction: Interaction, job_id: str) -> None:
    await runner_of(interaction).answer(interaction, ask.Retry(job_id), named={"job": job_id[:60]})


@app_commands.command(name="cancel", description=text("cancel"))
async def cancel(interaction: Interaction) -> None:
    await runner_of(interaction).answer(interaction, ask.Cancel())


@app_commands.command(name="reset", description=text("reset"))
async def reset(interaction: Interaction) -> None:
    await runner_of(interaction).answer(interaction, ask.Reset())


@app_commands.command(name="why", description=text("why"))
@app_commands.describe(message=text("why.message"))
async def why(interaction: Interaction, message: str) -> None:
    subject = message_named(message) or message.strip()
    await runner_of(interaction).answer(interaction, ask.Why(subject))


# --- agents

agent = app_commands.Group(name="agent", description=text("agent"))


@agent.command(name="start", description=text("agent.start"))
@app_commands.describe(project_id=text("agent.start.project_id"))
@app_commands.autocomplete(project_id=project_numbers)
async def agent_start(interaction: Interaction, project_id: int) -> None:
    await runner_of(interaction).start(interaction, str(project_id), named={"id": str(project_id)})


@agent.command(name="stop", description=text("agent.stop"))
async def agent_stop(interaction: Interaction) -> None:
    await runner_of(interaction).answer(interaction, ask.AgentStop())


@agent.command(name="kill", description=text("agent.kill"))
async def agent_kill(interaction: Interaction) -> None:
    await runner_of(interaction).answer(interaction, ask.AgentStop(kill=True))


@agent.command(name="status", description=text("agent.status"))
async def agent_status(interaction: Interaction) -> None:
    await runner_of(interaction).answer(interaction, ask.AgentStatus())


@agent.command(name="model", description=text("agent.model"))
@app_commands.describe(model_id=text("agent.model.model_id"))
@app_commands.autocomplete(model_id=models)
async def agent_model(interaction: Interaction, model_id: str) -> None:
    await runner_of(interaction).answer(interaction, ask.AgentModel(model_id), named={"model_id": model_id[:60]})


@agent.command(name="mode", description=text("agent.mode"))
@app_commands.describe(mode=text("agent.mode.mode"))
@app_commands.autocomplete(mode=modes)
async def agent_mode(interaction: Interaction, mode: str) -> None:
    await runner_of(interaction).answer(interaction, ask.AgentMode(mode))


@agent.command(name="usage", description=text("agent.usage"))
async def agent_usage(interaction: Interaction) -> None:
    await runner_of(interaction).answer(interaction, ask.AgentUsage())


class Tree(app_commands.CommandTree[Any]):
    """Every command and every autocomplete passes the door first; what crashes is answered with a code."""

    def __init__(self, client: discord.Client) -> None:
        super().__init__(client)
        for group in (project, session, agent):
            self.add_command(group)
        for command in cast("list[Any]", [all_projects, start, status, tool, retry, cancel, reset, why]):
            self.add_command(command)

    async def interaction_check(self, interaction: Interaction, /) -> bool:
        return await runner_of(interaction).people.may_pass(interaction, "a command")

    async def on_error(self, interaction: Interaction, error_: app_commands.AppCommandError, /) -> None:
        if isinstance(error_, app_commands.CheckFailure):
            return
        log_failure("a command was not understood", error_, command=str(interaction.data)[:200])
        if interaction.type is discord.InteractionType.application_command and not interaction.response.is_done():
            line = error_line(runner_of(interaction).people.language(interaction), Code.E_INTERNAL)
            await interaction.response.send_message(line, ephemeral=True)
