"""`fairlead agent`: which agents there are, and adding, updating and removing those that speak ACP."""

import asyncio
from collections.abc import Mapping, Sequence

import click

from fairlead.cli.output import tell
from fairlead.core.agents import ConfiguredAgent
from fairlead.kit.files import REAL_DISK
from fairlead.runtimes.acp.available_agents import available_agents
from fairlead.runtimes.catalogue import available_names
from fairlead.settings import Settings, load_settings
from fairlead.store.config_file import CONFIG_NAME, configured_agents, read_config


@click.group()
def command() -> None:
    """Add, update and remove agents that speak the Agent Client Protocol."""


@command.command("list", short_help="List the agents that people can talk to here.")
def list_command() -> None:
    """List the agents that people can talk to here, the preferred one first."""
    settings = load_settings()
    configured = read_agents(settings)
    commands = {name: agent.command for name, agent in available_agents(settings, configured).items()}
    for name in available_names(settings, configured):
        agent = configured.get(name)
        origin = "" if agent is None else f"  [{' '.join(filter(None, (agent.source, agent.version)))}]"
        tell(f"{name:<14}{' '.join(commands.get(name, ('built in',)))}{origin}")


@command.command("search", short_help="List agents that can be added.")
@click.argument("word", default="")
def search_command(*, word: str) -> None:
    """List agents that can be added, or those with WORD in their name or description."""
    asyncio.run(_search(load_settings(), word))


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
    asyncio.run(_add(load_settings(), name, program, env=env, projects=projects))


@command.command("update", short_help="Update installed agents to the newest version.")
@click.argument("name", metavar="[NAME[@VERSION]]", default="")
def update_command(*, name: str) -> None:
    """Update an agent, or every installed one, to the newest version or to VERSION."""
    asyncio.run(_update(load_settings(), name))


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


async def _search(settings: Settings, word: str) -> None:
    from fairlead.cli.agent_install import fetch_index, offers_here, tell_of_index
    from fairlead.runtimes.install.offers import find_offers

    fetched = await fetch_index(settings)
    here = describe_presence(settings, read_agents(settings))
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


async def _add(
    settings: Settings, name: str, program: tuple[str, ...], *, env: tuple[str, ...], projects: tuple[str, ...]
) -> None:
    from fairlead.cli.agent_install import open_installer, own_agent
    from fairlead.runtimes.install.releases import read_agent_release

    if program:
        async with open_installer(settings) as installer:
            await installer.add_command(own_agent(name, program, env), projects)
        return
    release = read_agent_release(name)
    async with open_installer(settings) as installer:
        await installer.add(release, env=env, projects=projects)


async def _update(settings: Settings, name: str) -> None:
    from fairlead.cli.agent_install import open_installer
    from fairlead.runtimes.install.releases import read_agent_release

    release = read_agent_release(name)
    async with open_installer(settings) as installer:
        await (installer.update(release) if name else installer.update_all())


async def _remove(settings: Settings, name: str, *, even_if_used: bool) -> None:
    from fairlead.cli.agent_install import open_installer

    async with open_installer(settings) as installer:
        await installer.remove(name, even_if_used=even_if_used)
