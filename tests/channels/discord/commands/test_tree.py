"""The payload that is registered at Discord: a change of it is a change that people see, so it is kept as a file.
Run as a program, this writes the file anew."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import discord
import pytest

from fairlead.channels.discord.commands.tree import Tree
from fairlead.channels.discord.gateway.registration import DescriptionTranslator

pytestmark = pytest.mark.anyio

GOLDEN = Path(__file__).parent / "golden" / "commands.json"


async def registered() -> str:
    tree = Tree(discord.Client(intents=discord.Intents.none()))
    payload = [await command.get_translated_payload(tree, DescriptionTranslator()) for command in tree.get_commands()]
    return json.dumps(payload, ensure_ascii=False, indent=1) + "\n"


@pytest.mark.req("A12")
async def test_names_options_order_and_descriptions_are_those_that_discord_already_knows():
    assert await registered() == GOLDEN.read_text(), f"meant so? then run python {__file__}"


@pytest.mark.parametrize("serves", [True, False])
async def test_a_command_is_for_the_daemon_that_serves(*, serves: bool):
    async def may_serve() -> bool:
        return serves

    async def may_pass(_interaction: Any, _what: str) -> bool:
        return True

    runner = SimpleNamespace(others=SimpleNamespace(may_serve=may_serve), callers=SimpleNamespace(may_pass=may_pass))
    interaction: Any = SimpleNamespace(client=SimpleNamespace(command_runner=runner))
    tree = Tree(discord.Client(intents=discord.Intents.none()))
    assert await tree.interaction_check(interaction) is serves


if __name__ == "__main__":
    GOLDEN.write_text(asyncio.run(registered()))
