"""The slash commands, made from the catalogue: names, options, choices and descriptions. The runner runs them."""

from inspect import Parameter, Signature
from typing import Any, cast

import discord
from discord import app_commands
from discord.app_commands import locale_str

from fairlead.channels.discord.commands.runner import CommandRunner, Interaction
from fairlead.core.command_spec import Argument, CommandCatalogue, CommandSpec
from fairlead.core.commands import COMMANDS
from fairlead.errors import Code
from fairlead.observe import log_failure
from fairlead.render.words import error_line, say

BuiltCommand = app_commands.Command[Any, Any, Any]


def description(key: str) -> locale_str:
    """A description with its key: the translator finds it in the catalogues of words."""
    return locale_str(say("en", f"command.{key}"), key=key)


def runner_of(interaction: Interaction) -> CommandRunner:
    return interaction.client.command_runner


def build_commands(catalogue: CommandCatalogue) -> list[app_commands.Group | BuiltCommand]:
    """Groups first, because that is the order that Discord already knows."""
    groups: dict[str, app_commands.Group] = {}
    single: list[BuiltCommand] = []
    for spec in catalogue.specs_for("menu"):
        if not spec.group:
            single.append(_build_command(spec))
            continue
        if spec.group not in groups:
            groups[spec.group] = app_commands.Group(name=spec.group, description=description(spec.group))
        groups[spec.group].add_command(_build_command(spec))
    return [*groups.values(), *single]


def _build_command(spec: CommandSpec) -> BuiltCommand:
    arguments = spec.arguments_for("menu")
    fields = {argument.option_name: argument.field for argument in arguments}

    async def callback(interaction: Interaction, **options: str | int | None) -> None:
        typed = {fields[name]: value for name, value in options.items() if value is not None}
        await runner_of(interaction).run(interaction, spec, typed)

    # discord.py reads the options of a command off the signature of its callback.
    cast("Any", callback).__signature__ = Signature(
        [Parameter("interaction", Parameter.POSITIONAL_OR_KEYWORD), *map(_parameter, arguments)]
    )
    descriptions = {a.option_name: description(f"{spec.key}.{a.option_name}") for a in arguments}
    completed = {a.option_name: _autocomplete(a) for a in arguments if a.choices}
    decorated: Any = app_commands.describe(**descriptions)(
        app_commands.autocomplete(**completed)(cast("Any", callback))
    )
    built: BuiltCommand = app_commands.Command(
        name=spec.words.rpartition(" ")[2], description=description(spec.key), callback=decorated
    )
    del cast("Any", callback).__signature__  # it has been read, and those of all commands are 50 kB
    return built


def _parameter(argument: Argument) -> Parameter:
    kind = {"integer": int, "yes_no": bool}.get(argument.kind, str)
    default = Parameter.empty if argument.required else None
    annotation = kind if argument.required else kind | None
    return Parameter(argument.option_name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _autocomplete(argument: Argument) -> Any:
    async def complete(interaction: Interaction, typed: str) -> list[app_commands.Choice[Any]]:
        return runner_of(interaction).choices(interaction, argument, str(typed))

    return complete


class Tree(app_commands.CommandTree[Any]):
    """Every command and every autocomplete is refused to strangers first; a crash is answered with a code."""

    def __init__(self, client: discord.Client, catalogue: CommandCatalogue = COMMANDS) -> None:
        super().__init__(client)
        for command in build_commands(catalogue):
            self.add_command(command)

    async def interaction_check(self, interaction: Interaction, /) -> bool:
        runner = runner_of(interaction)
        return await runner.others.may_serve() and await runner.callers.may_pass(interaction, "a command")

    async def on_error(self, interaction: Interaction, error_: app_commands.AppCommandError, /) -> None:
        if isinstance(error_, app_commands.CheckFailure):
            return
        log_failure("a command was not understood", error_, command=str(interaction.data)[:200])
        if interaction.type is discord.InteractionType.application_command and not interaction.response.is_done():
            line = error_line(runner_of(interaction).callers.language(interaction), Code.E_INTERNAL)
            await interaction.response.send_message(line, ephemeral=True)
