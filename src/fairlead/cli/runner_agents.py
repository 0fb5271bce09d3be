"""`fairlead runner agent`: the agents of this machine for the Fairlead that it has joined. Needs no daemon here: the
runner reads what is written, also while it runs."""

import asyncio

import click

from fairlead.cli.agent import AgentPlace, list_command, search_command, update_command
from fairlead.cli.agent_records import AgentRecords, shown_name
from fairlead.cli.output import tell
from fairlead.cli.running import need_extra
from fairlead.core.agents import ConfiguredAgent
from fairlead.core.replies import AgentAdded, AgentWasRemoved
from fairlead.errors import Code, FairleadError, error
from fairlead.settings import Settings, load_settings
from fairlead.state_directory import take_lock
from fairlead.store.agents_file import AgentsFile


@click.group()
@click.pass_context
def command(ctx: click.Context) -> None:
    """Add, update and remove agents of this machine, for the Fairlead that it has joined."""
    ctx.obj = AT_RUNNER


@command.command("add", short_help="Install an agent on this machine, or name the command of one.")
@click.argument("name", metavar="NAME[@VERSION]")
@click.argument("program", nargs=-1, metavar="[-- COMMAND ARGUMENTS…]")
@click.option(
    "--env", multiple=True, metavar="VARIABLE", help="The name of an environment variable that the agent may see."
)
def add_command(*, name: str, program: tuple[str, ...], env: tuple[str, ...]) -> None:
    """Install an agent on this machine, or name the COMMAND of one that is installed.

    The version is pinned: without VERSION, the newest version is chosen once. Nothing is downloaded later. A runner
    that runs offers the agent within seconds."""
    from fairlead.cli.agent_install import add_agent

    settings = load_settings()
    asyncio.run(add_agent(settings, AT_RUNNER.open_records(settings), name, program, env=env))


@command.command("remove")
@click.argument("name")
def remove_command(*, name: str) -> None:
    """Remove an agent that was added on this machine, with its files."""
    from fairlead.cli.agent_install import open_installer

    async def remove(settings: Settings) -> None:
        async with open_installer(settings, AT_RUNNER.open_records(settings)) as installer:
            await installer.remove(name, even_if_used=True)

    asyncio.run(remove(load_settings()))


class RunnerRecords:
    """AgentRecords: in the file that the runner of this machine follows."""

    command_words = "fairlead runner agent"

    def __init__(self, settings: Settings) -> None:
        self.directory = settings.runner_dir
        self.log_dir = settings.runner_dir / "logs"
        self._file = AgentsFile(settings.runner_dir)

    def check(self) -> None:
        """Raises E_CONFIG if this machine has not joined a Fairlead."""
        need_extra()
        from fairlead.real_runner import read_joined

        read_joined(self.directory)

    async def list_all(self) -> tuple[ConfiguredAgent, ...]:
        return tuple(self._file.read().values())

    async def record(self, agent: ConfiguredAgent, projects: tuple[str, ...]) -> AgentAdded:
        """Which projects allow it, the daemon decides."""
        del projects
        self._file.write((self._file.read() | {agent.name: agent}).values())
        return AgentAdded(agent.name, ())

    async def remove(self, name: str, *, even_if_used: bool) -> AgentWasRemoved:
        """Who uses it, only the daemon knows."""
        del even_if_used
        agents = self._file.read()
        if agents.pop(name, None) is None:
            raise error(
                Code.E_AGENT_NOT_FOUND,
                f"{name[:60]} was not added on this machine.",
                next_step="`fairlead runner agent list` lists its agents.",
            )
        self._file.write(agents.values())
        return AgentWasRemoved(name)

    def tell_added(self, agent: ConfiguredAgent, reply: AgentAdded) -> None:
        del reply
        tell(
            f"{shown_name(agent)} was added on this machine. People choose it with /tool {agent.name} in its projects."
        )
        if not self._has_runner():
            tell("No runner runs here. `fairlead runner run` starts it.")

    def why_files_stay(self, running: tuple[str, ...]) -> str:
        del running
        return "The runner may still use the old files; they are removed at its next start." * self._has_runner()

    def _has_runner(self) -> bool:
        try:
            take_lock(self.directory).release()
        except FairleadError as held:
            return held.code is Code.E_STATE_LOCKED
        return False


def _read_agents(settings: Settings) -> dict[str, ConfiguredAgent]:
    return AgentsFile(settings.runner_dir).read()


def _open_records(settings: Settings) -> AgentRecords:
    return RunnerRecords(settings)


AT_RUNNER = AgentPlace(read=_read_agents, open_records=_open_records)

for shared in (list_command, search_command, update_command):
    command.add_command(shared)
