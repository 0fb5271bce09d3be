"""`fairlead agent`: which agents there are, and adding, updating and removing those that speak ACP."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from fairlead.cli.output import tell
from fairlead.core.agents import ConfiguredAgent
from fairlead.kit.files import REAL_DISK
from fairlead.runtimes.acp.available_agents import available_agents
from fairlead.runtimes.catalogue import available_names
from fairlead.settings import Settings, load_settings
from fairlead.store.config_file import CONFIG_NAME, configured_agents, read_config

if TYPE_CHECKING:
    from fairlead.cli.agent_records import AgentRecords


class AgentPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Whose agents a command is about: those of the daemon here, or of the runner here. `read` takes them from a file,
    whether a process runs or not."""

    read: Callable[[Settings], dict[str, ConfiguredAgent]]
    open_records: "Callable[[Settings], AgentRecords]"


@click.group()
@click.pass_context
def command(ctx: click.Context) -> None:
    """Add, update and remove agents that speak the Agent Client Protocol."""
    ctx.obj = AT_DAEMON


@command.command("list", short_help="List the agents that people can talk to here.")
@click.pass_obj
def list_command(place: AgentPlace) -> None:
    """List the agents that people can talk to here, the preferred one first."""
    settings = load_settings()
    configured = place.read(settings)
    commands = {name: agent.command for name, agent in available_agents(settings, configured).items()}
    for name in available_names(settings, configured):
        agent = configured.get(name)
        origin = "" if agent is None else f"  [{' '.join(filter(None, (agent.source, agent.version)))}]"
        tell(f"{name:<14}{' '.join(commands.get(name, ('built in',)))}{origin}")


@command.command("search", short_help="List agents that can be added.")
@click.argument("word", default="")
@click.pass_obj
def search_command(place: AgentPlace, *, word: str) -> None:
    """List agents that can be added, or those with WORD in their name or description."""
    settings = load_settings()
    asyncio.run(_search(settings, place.read(settings), word))


@command.command("add", short_help="Install an agent, or name the command of one.")
@click.argument("name", metavar="NAME[@VERSION]")
@click.argument("program", nargs=-1, metavar="[-- COMMAND ARGUMENTS…]")
@click.option(
    "--env", multiple=True, metavar="VARIABLE", help="The name of an environment variable that the agent may see."
)
@click.option("--project", "projects", multiple=True, help="A project that allows the agent from now on.")
def add_command(*, name: str, program: tuple[str, ...], env: tuple[str, ...], projects: tuple[str, ...]) -> None:
    """Install an agent, or name the COMMAND of one that is installed.

    The version is pinned: without VERSION, the newest version is chosen once. Nothing is downloaded later."""
    from fairlead.cli.agent_install import add_agent

    settings = load_settings()
    asyncio.run(add_agent(settings, AT_DAEMON.open_records(settings), name, program, env=env, projects=projects))


@command.command("update", short_help="Update installed agents to the newest version.")
@click.argument("name", metavar="[NAME[@VERSION]]", default="")
@click.pass_obj
def update_command(place: AgentPlace, *, name: str) -> None:
    """Update an agent, or every installed one, to the newest version or to VERSION."""
    settings = load_settings()
    asyncio.run(_update(settings, place.open_records(settings), name))


@command.command("remove")
@click.argument("name")
@click.option("--force", is_flag=True, help="Remove it even if sessions or projects use it.")
def remove_command(*, name: str, force: bool) -> None:
    """Remove an agent that was added, with its files."""
    asyncio.run(_remove(load_settings(), name, even_if_used=force))


def read_agents(settings: Settings) -> dict[str, ConfiguredAgent]:
    """As config.json shows them, edits included: a daemon may hold the journal. Raises E_CONFIG."""
    config = read_config(settings.state_dir / CONFIG_NAME, REAL_DISK)
    return {} if config is None else {agent.name: agent for agent in configured_agents(config)}


def _open_daemon_records(settings: Settings) -> "AgentRecords":
    from fairlead.cli.agent_records import DaemonRecords

    return DaemonRecords(settings)


AT_DAEMON = AgentPlace(read=read_agents, open_records=_open_daemon_records)


async def _search(settings: Settings, configured: Mapping[str, ConfiguredAgent], word: str) -> None:
    from fairlead.cli.agent_install import fetch_index, offers_here, tell_of_index
    from fairlead.runtimes.install.offers import find_offers

    fetched = await fetch_index(settings)
    here = describe_presence(settings, configured)
    found = find_offers(offers_here(fetched.index), word)
    rows = [
        (offer.name, offer.version or "newest", offer.way_words, here.get(offer.name, "-"), offer.description)
        for offer in found
    ]
    if rows:
        tell("\n".join(_lay_out([("NAME", "VERSION", "FROM", "HERE", "WHAT IT IS"), *rows])))
    else:
        tell(f"No agent has {word!r} in its name, description or package.")
    tell_of_index(fetched)


def _lay_out(rows: Sequence[Sequence[str]]) -> list[str]:
    """In columns, each as wide as its widest text."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def describe_presence(settings: Settings, configured: Mapping[str, ConfiguredAgent]) -> dict[str, str]:
    """Which agents are here, and how, for the list of those that can be added."""
    words: dict[str, str] = {}
    for name in available_agents(settings, configured):
        agent = configured.get(name)
        words[name] = "on PATH" if agent is None else f"added {agent.version}".rstrip()
    return words


async def _update(settings: Settings, records: "AgentRecords", name: str) -> None:
    from fairlead.cli.agent_install import open_installer
    from fairlead.runtimes.install.releases import read_agent_release

    release = read_agent_release(name)
    async with open_installer(settings, records) as installer:
        await (installer.update(release) if name else installer.update_all())


async def _remove(settings: Settings, name: str, *, even_if_used: bool) -> None:
    from fairlead.cli.agent_install import open_installer

    async with open_installer(settings, AT_DAEMON.open_records(settings)) as installer:
        await installer.remove(name, even_if_used=even_if_used)
