"""What the gateway brings goes to the part that handles it, and to nobody while another daemon serves."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from fairlead.channels.discord.gateway_events import GatewayEvents
from fairlead.testing.clock import run_virtually


class Others:
    def __init__(self, *, serves: bool) -> None:
        self._serves = serves

    async def may_serve(self) -> bool:
        await asyncio.sleep(0)
        return self._serves


def make_events(others: Any, clicked: list[str], changes: list[str]) -> GatewayEvents:
    async def handle(interaction: Any) -> None:
        clicked.append(interaction.name)

    nobody: Any = SimpleNamespace()
    button_clicks: Any = SimpleNamespace(handle=handle)
    access: Any = SimpleNamespace(note_change=lambda: changes.append("a change"))
    return GatewayEvents(
        identity=nobody,
        callers=nobody,
        messages=nobody,
        component_handlers=(button_clicks,),
        access=access,
        others=others,
        session_setup=nobody,
        reaction_emoji="",
    )


@pytest.mark.parametrize("serves", [True, False])
def test_a_click_is_for_the_daemon_that_serves(*, serves: bool) -> None:
    async def story() -> None:
        clicked: list[str] = []
        changes: list[str] = []
        events = make_events(Others(serves=serves), clicked, changes)
        interaction: Any = SimpleNamespace(name="Allow once")
        await events.on_click(interaction)
        events.on_access_change()
        assert clicked == (["Allow once"] if serves else [])
        assert changes == ["a change"]

    run_virtually(story())
