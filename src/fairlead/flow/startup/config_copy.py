"""Keeps config.json, the readable copy, up to date with the journal. While a person edits it, the file is left alone:
the next start takes the edits over."""

from typing import TypeAlias

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.state import State
from fairlead.flow.ledger import Ledger
from fairlead.flow.startup.machine import ConfigCopy
from fairlead.observe import log

_Stamps: TypeAlias = tuple[str, tuple[tuple[str, str], ...], tuple[ConfiguredAgent, ...]]


async def keep_config(ledger: Ledger, config: ConfigCopy) -> None:
    """For ever."""
    while True:
        stamps = _stamps(ledger.state)
        await update_config(ledger, config)
        await _until_other_stamps(ledger, stamps)


async def _until_other_stamps(ledger: Ledger, stamps: _Stamps) -> None:
    if _stamps(ledger.state) == stamps:
        await ledger.until_changed(ledger.state.seq, concerns=lambda: _stamps(ledger.state) != stamps)


async def update_config(ledger: Ledger, config: ConfigCopy) -> None:
    shown = config.encode(ledger.state)
    await ledger.until_all_durable()
    if config.was_edited():
        log.warning("config.json was edited", message="config.json was edited; the next start takes it over")
    else:
        await config.write(shown)


def _stamps(state: State) -> _Stamps:
    """Changes whenever a part of the state changes that the copy shows."""
    projects = tuple((p.name, p.updated_at) for p in state.listed_projects())
    return state.owner_id, projects, tuple(state.agents.values())
