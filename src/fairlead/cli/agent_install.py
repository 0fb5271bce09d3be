"""What `fairlead agent add`, `update` and `remove` do: install, probe with `initialize`, record, tidy up.

The lock of the agents' files is held throughout, so that two command lines never meet in the same directory, and a
daemon that starts meanwhile leaves alone what is being made.
"""

import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from fairlead.cli.agent_records import AgentRecords
from fairlead.cli.install_progress import InstallProgress
from fairlead.cli.output import tell
from fairlead.core.agents import BUILT_IN_AGENTS, FROM_COMMAND, ConfiguredAgent, find_mistake
from fairlead.core.replies import AgentAdded
from fairlead.errors import Code, FairleadError, error
from fairlead.observe import JobLogDirectory, Redactor
from fairlead.ports import RuntimeHealth
from fairlead.render.errors import error_sentence
from fairlead.runtimes.acp.available_agents import agent_from_configuration, available_agents
from fairlead.runtimes.acp.known_agents import KNOWN_AGENTS, known_agent
from fairlead.runtimes.catalogue import RuntimeParts, make_acp_runtime
from fairlead.runtimes.install.agent_files import AgentFiles
from fairlead.runtimes.install.commands import program_of
from fairlead.runtimes.install.download import read_index_bytes
from fairlead.runtimes.install.index import RegistryIndex, platform_key, read_index
from fairlead.runtimes.install.installer import Installation, Installer, choose_way
from fairlead.runtimes.install.offers import Offer, Package, Way, list_offers, suggest_names
from fairlead.runtimes.install.programs import InstallPrograms
from fairlead.runtimes.install.releases import AgentRelease, is_older, read_agent_release
from fairlead.runtimes.pool import ProcessPool
from fairlead.settings import OWN_VARIABLES, Settings


class AgentInstaller:
    """One command line's work. `agents` are those that `records` have."""

    def __init__(
        self, settings: Settings, records: AgentRecords, agents: Iterable[ConfiguredAgent], index: RegistryIndex
    ) -> None:
        self._settings = settings
        self._records = records
        self._agents = {agent.name: agent for agent in agents}
        self._files = AgentFiles(records.directory)
        self._offers = offers_here(index)
        self._progress = InstallProgress()
        self._installer = Installer(
            self._files, InstallPrograms(os.environ), index=settings.agent_registry, watcher=self._progress
        )

    async def add(self, release: AgentRelease, *, env: tuple[str, ...], projects: tuple[str, ...]) -> None:
        self._check(ConfiguredAgent(name=release.name, command=("…",), env=env))
        there = self._agents.get(release.name)
        if there is not None and self._files.place_of(there) is None:
            raise error(
                Code.E_INVALID_NAME,
                f"The agent {release.name} already exists: {' '.join(there.command)}.",
                next_step=f"`{self._records.command_words} remove {release.name}` removes it.",
            )
        if there is not None and release.version in {"", there.version} and not self._files.find_damage(there):
            newer = f"`{self._records.command_words} update` looks for a newer one."
            tell(f"{there.name} {there.version} is already installed. {newer}")
            return
        way = choose_way(self._find_offer(release.name))
        wanted = release.version or ("" if there is None else there.version)
        await self._install(release.name, way, wanted, env=env or _env_of(there), projects=projects)

    async def add_command(self, agent: ConfiguredAgent, projects: tuple[str, ...]) -> None:
        """An agent that is installed already."""
        self._check(agent)
        there = self._agents.get(agent.name)
        if there is not None and self._files.place_of(there) is not None:
            raise error(
                Code.E_INVALID_NAME,
                f"{agent.name} {there.version} was installed by Fairlead.",
                next_step="Choose another name, or remove it first: "
                f"`{self._records.command_words} remove {agent.name}`.",
            )
        await self._probe(agent)
        self._tell_added(agent, await self._records.record(agent, projects))

    async def update(self, release: AgentRelease) -> None:
        agent = self._agents.get(release.name)
        if agent is None:
            raise error(Code.E_AGENT_NOT_FOUND, f"{release.name[:60]} was not added here.")
        if self._files.place_of(agent) is None:
            raise error(
                Code.E_INVALID_ARGS,
                f"{agent.name} was not installed by Fairlead: it runs {' '.join(agent.command)}.",
                next_step="Update that program yourself.",
            )
        way = self._way_of(agent)
        wanted = release.version
        if not wanted:
            async with self._progress:
                wanted = await self._installer.find_newest(way)
        damage = self._files.find_damage(agent)
        if not damage and wanted == agent.version:
            tell(f"{agent.name} {agent.version} is the newest.")
        elif not damage and not release.version and is_older(wanted, agent.version):
            tell(f"{agent.name} {agent.version} is newer than {wanted}, the newest on offer.")
        else:
            await self._install(agent.name, way, wanted, env=agent.env, projects=())

    async def update_all(self) -> None:
        installed = [agent for agent in self._agents.values() if self._files.place_of(agent) is not None]
        if not installed:
            tell(f"No agents were installed by `{self._records.command_words} add`.")
        for agent in installed:
            await self.update(AgentRelease(agent.name))

    async def remove(self, name: str, *, even_if_used: bool) -> None:
        if name in BUILT_IN_AGENTS:
            words = f"{name} is built in: it is offered while its program is on PATH."
            raise error(
                Code.E_INVALID_NAME, words, next_step="To disable it in a project, remove it from the project's agents."
            )
        agent = self._agents.get(name)
        if agent is None and name in available_agents(self._settings, self._agents):
            words = f"{name} was not added here: AGENT_COMMAND names it, or its program is on PATH."
            raise error(Code.E_AGENT_NOT_FOUND, words, next_step="Change the setting, or uninstall the program.")
        reply = await self._records.remove(name, even_if_used=even_if_used)
        tell(f"{name} was removed.")
        if reply.users:
            tell(f"These used it and need another agent (/tool NAME): {', '.join(reply.users)}.")
        if agent is not None:
            self._tidy_up(agent, reply.running)

    # --- the steps ---------------------------------------------------------------------------------------------------

    async def _install(
        self, name: str, way: Way, version: str, *, env: tuple[str, ...], projects: tuple[str, ...]
    ) -> None:
        tell(f"Installing {name}{f' {version}' if version else ''} from {_describe_way(way)} …")
        async with self._progress:
            made = await self._installer.install(name, way, version, env)
            try:
                self._progress.begin_step(f"{name} starts once, as a check")
                health = await self._probe(made.agent, made.notes)
            except BaseException:  # also when interrupted: what is not recorded is not used, and must not stay
                self._files.remove_place(made.place)
                raise
        self._tell_installed(made, await self._record_installed(made, projects), health)

    async def _record_installed(self, made: Installation, projects: tuple[str, ...]) -> AgentAdded:
        try:
            return await self._records.record(made.agent, projects)
        except FairleadError as refused:
            # A daemon that went away may have recorded it: then the files are used, else the next start removes them.
            if refused.code is not Code.E_CONFIG:
                self._files.remove_place(made.place)
            raise

    def _tell_installed(self, made: Installation, reply: AgentAdded, health: RuntimeHealth) -> None:
        old = self._agents.get(made.agent.name)
        for note in (*made.notes, *health.notes):
            tell(f"Note: {note}")
        if old is None:
            self._tell_added(made.agent, reply)
            return
        is_same = old.version == made.agent.version
        change = f" {old.version} was installed again" if is_same else f": {old.version} → {made.agent.version}"
        tell(f"{old.name}{change}.")
        self._tidy_up(old, reply.running)

    async def _probe(self, agent: ConfiguredAgent, notes: tuple[str, ...] = ()) -> RuntimeHealth:
        """Starts the agent and asks it to initialize; no model hears of that. Raises E_AGENT_INSTALL."""
        settings = self._settings
        logs = JobLogDirectory(self._records.log_dir, Redactor([]))
        parts = RuntimeParts(settings, logs, ProcessPool(most=1, idle_sec=1))
        runtime = make_acp_runtime(agent_from_configuration(agent, settings), parts)
        try:
            health = await runtime.check()
        finally:
            await runtime.aclose()
        if not health.ok:
            said = " ".join((*health.notes, *notes))
            words = f"{' '.join(agent.command)} does not answer as an ACP agent: {said}"
            raise error(
                Code.E_AGENT_INSTALL, words, next_step="Nothing was changed. Run the command by hand to see why."
            )
        return health

    def _tell_added(self, agent: ConfiguredAgent, reply: AgentAdded) -> None:
        self._records.tell_added(agent, reply)
        known = known_agent(agent.name)
        if known is not None and known.login_hint:
            tell(f"If it is not logged in yet: {known.login_hint}")

    def _tidy_up(self, old: ConfiguredAgent, running: tuple[str, ...]) -> None:
        if self._files.place_of(old) is None:
            return
        reason = self._records.why_files_stay(running)
        if reason:
            tell(reason)
        else:
            self._files.remove(old)

    # --- what is meant -----------------------------------------------------------------------------------------------

    def _check(self, agent: ConfiguredAgent) -> None:
        """Before anything is installed. Raises what the journal would refuse."""
        mistake = find_mistake(agent, OWN_VARIABLES)
        if mistake is not None:
            over_acp = f"{agent.name}-acp"
            command = f"{self._records.command_words} add {over_acp}"
            hint = f"`{command}` adds its ACP version." if known_agent(over_acp) else ""
            raise error(mistake.code, f"{mistake.sentence[0].upper()}{mistake.sentence[1:]}.", next_step=hint)

    def _find_offer(self, name: str) -> Offer:
        offer = next((offer for offer in self._offers if offer.name == name), None)
        if offer is not None:
            return offer
        close = suggest_names(self._offers, name)
        meant = f" Did you mean {' or '.join(close)}?" if close else ""
        where = "" if self._settings.agent_registry else " No registry is set (FAIRLEAD_AGENT_REGISTRY)."
        raise error(
            Code.E_AGENT_NOT_FOUND,
            f"There is no known agent {name[:60]!r}.{meant}{where}",
            next_step=f"`{self._records.command_words} search` lists those that can be added. "
            f"Add one that is already installed with `{self._records.command_words} add {name[:60]} -- COMMAND`.",
        )

    def _way_of(self, agent: ConfiguredAgent) -> Way:
        """The way it was installed, as it is offered now; a package needs no offer to be updated."""
        offered = [way for offer in self._offers for way in offer.ways if way.source == agent.source]
        if offered:
            return offered[0]
        kind, _, name = agent.source.partition(":")
        if kind not in {"npm", "pypi"}:
            raise error(
                Code.E_AGENT_NOT_FOUND,
                f"{agent.name} came from a registry that does not offer it now ({agent.source}).",
                next_step="Set FAIRLEAD_AGENT_REGISTRY to that registry.",
            )
        program = program_of(agent.command)
        arguments = agent.command[agent.command.index(program) + 1 :]
        return Package(kind="npm" if kind == "npm" else "pypi", name=name, commands=((Path(program).name, *arguments),))


def offers_here(index: RegistryIndex) -> tuple[Offer, ...]:
    here = os.uname()
    return list_offers(KNOWN_AGENTS, index, platform_key(here.sysname, here.machine))


class FetchedIndex(msgspec.Struct, frozen=True):
    """`problem` says why there is no index."""

    index: RegistryIndex
    problem: str = ""


async def fetch_index(settings: Settings) -> FetchedIndex:
    """A registry that cannot be read hides no agent that Fairlead knows by name."""
    where = settings.agent_registry
    if not where:
        return FetchedIndex(RegistryIndex(), "No registry is set (FAIRLEAD_AGENT_REGISTRY).")
    try:
        return FetchedIndex(read_index(await read_index_bytes(where), where))
    except FairleadError as away:
        return FetchedIndex(RegistryIndex(), error_sentence(away))


def tell_of_index(fetched: FetchedIndex) -> None:
    if fetched.problem:
        tell(f"{fetched.problem} Only agents that Fairlead knows by name are found.", err=True)
    if fetched.index.unreadable:
        tell(f"Entries of the registry that could not be read: {', '.join(fetched.index.unreadable)}.", err=True)


async def add_agent(
    settings: Settings,
    records: AgentRecords,
    name: str,
    program: tuple[str, ...],
    *,
    env: tuple[str, ...],
    projects: tuple[str, ...] = (),
) -> None:
    """`name` is NAME[@VERSION] of one to install, or, with a `program`, the name of one that is installed."""
    if program:
        async with open_installer(settings, records) as installer:
            await installer.add_command(own_agent(name, program, env), projects)
        return
    release = read_agent_release(name)
    async with open_installer(settings, records) as installer:
        await installer.add(release, env=env, projects=projects)


@asynccontextmanager
async def open_installer(settings: Settings, records: AgentRecords) -> AsyncGenerator[AgentInstaller]:
    """Raises before any work is done if the result could not be recorded."""
    records.check()
    with AgentFiles(records.directory).lock():
        agents = await records.list_all()
        fetched = await fetch_index(settings)
        if settings.agent_registry:
            tell_of_index(fetched)
        yield AgentInstaller(settings, records, agents, fetched.index)


def own_agent(name: str, command: tuple[str, ...], env: tuple[str, ...]) -> ConfiguredAgent:
    """The daemon runs in another directory, so a path that a person typed becomes a whole one."""
    program = command[0] if "/" not in command[0] else str(Path(command[0]).expanduser().absolute())
    return ConfiguredAgent(name=name, command=(program, *command[1:]), env=env, source=FROM_COMMAND)


def _env_of(agent: ConfiguredAgent | None) -> tuple[str, ...]:
    return () if agent is None else agent.env


def _describe_way(way: Way) -> str:
    if isinstance(way, Package):
        return f"npm ({way.name})" if way.kind == "npm" else f"PyPI ({way.name})"
    return way.run.archive
