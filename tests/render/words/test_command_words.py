"""Every command of the catalogue can be said in every language, and no word is left over from one that is gone."""

import pytest

from fairlead.core.command_spec import CommandSpec
from fairlead.core.commands import COMMANDS
from fairlead.render.words import CATALOGUES


def keys(spec: CommandSpec) -> set[str]:
    options = {f"{spec.key}.{argument.option_name}" for argument in spec.arguments_for("menu")}
    return {f"command.{key}" for key in {spec.key, spec.group, *options} if key}


@pytest.mark.req("A12")
@pytest.mark.parametrize("lang", CATALOGUES)
def test_the_words_of_commands_are_those_of_the_catalogue(lang: str):
    needed = {key for spec in COMMANDS.specs for key in keys(spec)}
    assert needed == {key for key in CATALOGUES[lang] if key.startswith("command.")}
