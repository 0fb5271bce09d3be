"""`fairlead doctor`: look at everything a start needs, and say what to do about what is missing."""

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click

from fairlead.cli.agent import read_agents
from fairlead.cli.health import check_all, describe_health
from fairlead.cli.installed_files import describe_files
from fairlead.cli.machine_checks import check_machines, describe_each
from fairlead.cli.output import tell
from fairlead.cli.settings_report import strange_settings
from fairlead.core.agents import ConfiguredAgent
from fairlead.errors import FairleadError
from fairlead.git.command import Git
from fairlead.git.tree_status import FileLimits
from fairlead.git.work_trees import GitWorkTrees
from fairlead.kit.addresses import leaves_loopback
from fairlead.kit.capacity import AGENT_MIB, read_machine_size
from fairlead.kit.confinement import Confinement, confine_children
from fairlead.kit.files import REAL_DISK
from fairlead.observe import JobLogDirectory, Redactor
from fairlead.render.errors import error_sentence, error_text
from fairlead.runtimes.catalogue import Catalogue, missing_programs
from fairlead.runtimes.codex.sandbox import describe_exposed_state
from fairlead.runtimes.separation import check_separation, make_confinements
from fairlead.settings import OPEN_HTTP_ADVICE, Settings, load_settings
from fairlead.settings_file import describe_file, find_settings_file
from fairlead.state_directory import take_lock
from fairlead.store.config_file import CONFIG_NAME, configured_agents, read_config
from fairlead.store.directories import RealDirectories
from fairlead.store.verification import verify
from fairlead.tree_ports import TreeCost

_NO_CONFIG: Final = "does not exist yet; the first start writes it"
_TO_HAVE_IT: Final = "To use this agent, install it, or add its directory to PATH."


@click.command()
def command() -> None:
    """Check settings, files and agents, and say what to do."""
    settings = load_settings()
    _tell("settings", describe_file(find_settings_file()), ok=True)
    for sentence in strange_settings():
        tell(f"{'settings':<10} WARN {sentence}")
    results = [_check_state(settings), _check_projects(settings), asyncio.run(_check_agents(settings))]
    _tell("limits", _describe_limits(settings), ok=True)
    results.append(asyncio.run(_check_snapshots(settings)))
    results.append(_check_separation(settings))
    results.append(_check_channels(settings))
    sys.exit(0 if all(results) else 1)


def _tell(name: str, sentence: str, *, ok: bool) -> bool:
    tell(f"{name:<10} {'ok  ' if ok else 'FAIL'} {sentence}")
    return ok


def _check_state(settings: Settings) -> bool:
    try:
        take_lock(settings.state_dir).release()
        _tell("state", f"{settings.state_dir} is writable and not in use.", ok=True)
    except FairleadError as held:
        if held.code != "E_STATE_LOCKED":
            return _tell("state", error_sentence(held), ok=False)
        _tell("state", f"a Fairlead is running here: {error_text(held).what}", ok=True)
    verdict = verify(settings.state_dir, REAL_DISK)
    for line in verdict.lines:
        _tell("journal", line, ok=verdict.ok)
    return _check_config(settings) and verdict.ok


def _check_config(settings: Settings) -> bool:
    try:
        config = read_config(settings.state_dir / CONFIG_NAME, REAL_DISK)
    except FairleadError as mistake:
        return _tell("config", error_sentence(mistake), ok=False)
    agents = 0 if config is None else len(configured_agents(config))
    found = f"{len(config.projects)} project(s), {agents} agent(s)" if config is not None else _NO_CONFIG
    return _tell("config", f"{settings.state_dir / CONFIG_NAME}: {found}.", ok=True)


def _check_projects(settings: Settings) -> bool:
    directories = RealDirectories(settings.state_dir)
    named = [*settings.projects, *([settings.project_root] if settings.project_root else [])]
    if not named:
        return _tell("projects", "none in the settings; `fairlead chat` offers the current directory.", ok=True)
    problems = [facts.problem for facts in map(directories.inspect, named) if facts.problem]
    for problem in problems:
        _tell("projects", f"{problem} Create it, or correct PROJECTS or FAIRLEAD_PROJECT_ROOT.", ok=False)
    return not problems and _tell("projects", f"{len(named)} in the settings; all directories exist.", ok=True)


def _describe_limits(settings: Settings) -> str:
    more = "" if "multi_turn_max_processes" in settings.given else ", and more while memory is free"
    kept = f"{settings.pool_size()} long-lived agents are kept{more}"
    jobs = f"At most {settings.global_max_running} jobs run at once, and {kept}"
    if "global_max_running" in settings.given:
        return f"{jobs}, as FAIRLEAD_GLOBAL_MAX_RUNNING says."
    return f"{jobs}: {read_machine_size()}, about {AGENT_MIB} MiB per agent. FAIRLEAD_GLOBAL_MAX_RUNNING changes it."


async def _check_snapshots(settings: Settings) -> bool:
    """What the snapshots of files need, and what they take."""
    if not settings.tree_snapshots:
        return _tell("snapshots", "off; FAIRLEAD_TREE_SNAPSHOTS=1 turns on /changes and /undo.", ok=True)
    git = Git(os.environ)
    try:
        if not git.program:
            tell(f"{'snapshots':<10} WARN git was not found on PATH: /changes and /undo need it. Install git.")
            return True
        trees = GitWorkTrees(git, settings.state_dir, limits=FileLimits(), home=Path.home())
        costs = await trees.costs()
    finally:
        git.close()
    for cost in costs:
        _tell("snapshots", _describe_cost(cost), ok=True)
    return bool(costs) or _tell("snapshots", "none yet; each turn takes one at its start and its end.", ok=True)


def _describe_cost(cost: TreeCost) -> str:
    there, here = _in_megabytes(cost.project_bytes), _in_megabytes(cost.own_bytes)
    if cost.counted_for:
        return f"{cost.project_path}: in the repository of {cost.counted_for}, {here} in the state directory."
    refs = f"{cost.refs} refs below refs/fairlead"
    return f"{cost.project_path}: {refs}, {there} in its repository, {here} in the state directory."


def _in_megabytes(size: int) -> str:
    return f"{size / 1024 / 1024:.1f} MB"


async def _check_agents(settings: Settings) -> bool:
    with TemporaryDirectory(prefix="fairlead-doctor-") as spare:
        return await _check_each_agent(settings, _open_job_logs(settings, Path(spare)))


def _open_job_logs(settings: Settings, spare: Path) -> JobLogDirectory:
    """Where logs cannot be written, the agents are checked all the same."""
    try:
        return JobLogDirectory(settings.log_dir, Redactor([]))
    except OSError as fault:
        _tell("logs", f"LOG_DIR {settings.log_dir} cannot be written: {fault.strerror or fault}.", ok=False)
        return JobLogDirectory(spare, Redactor([]))


async def _check_each_agent(settings: Settings, job_logs: JobLogDirectory) -> bool:
    agents = _read_agents(settings)
    files = [describe_files(settings.state_dir, agent, "fairlead agent") for agent in agents.values()]
    are_whole = [_tell("installed", sentence, ok=ok) for ok, sentence in files if sentence]
    catalogue = Catalogue(settings, job_logs)
    catalogue.follow(agents)
    healthy = False
    exposed = describe_exposed_state(settings.state_dir, catalogue.runtimes)
    if exposed:
        tell(f"{'state':<10} warn {exposed}")
    with confine_children(_separate_if_possible(settings)):
        async for name, health in check_all(catalogue.runtimes.values()):
            if health.ok and health.needs_login:
                tell(f"{f'  {name}':<10} WARN {describe_health(health)}")
            else:
                _tell(f"  {name}", describe_health(health), ok=health.ok)
            healthy = healthy or health.ok
        await catalogue.aclose()
    for program in missing_programs(settings):
        tell(f"  {program:<8} -    not found on PATH ({os.environ.get('PATH', '')}). {_TO_HAVE_IT}")
    return healthy and all(are_whole)


def _separate_if_possible(settings: Settings) -> list[Confinement]:
    """Agents are asked as they will run: as their own user, in their sandbox."""
    try:
        return make_confinements(settings)
    except FairleadError:
        return []  # the check of the separation tells of it


def _check_separation(settings: Settings) -> bool:
    what, problem = check_separation(settings)
    if what == "none":
        return _tell(
            "separation", "none: an agent can do everything that this user can do (docs/security.md).", ok=True
        )
    return _tell("separation", problem or f"{what}: agents cannot reach Fairlead's own files.", ok=not problem)


def _read_agents(settings: Settings) -> dict[str, ConfiguredAgent]:
    try:
        return read_agents(settings)
    except FairleadError:
        return {}  # the check of the file has told of the mistake


def _check_channels(settings: Settings) -> bool:
    where = f"{settings.http_host}:{settings.http_port}" if settings.http else "off; FAIRLEAD_HTTP=1 turns it on"
    _tell("HTTP", where, ok=True)
    if settings.http and leaves_loopback(settings.http_host):
        tell(f"{'HTTP':<10} warn Other machines can reach it at {settings.http_host}. {OPEN_HTTP_ADVICE}")
    machines_ok, machines = check_machines(settings)
    _tell("machines", machines, ok=machines_ok)
    for is_usable, sentence in describe_each(settings):
        tell(f"{'machines':<10} {'ok  ' if is_usable else 'WARN'} {sentence}")
    if settings.discord_token is None:
        return machines_ok and _tell("Discord", "off; `fairlead init` turns it on.", ok=True)
    return asyncio.run(_check_discord(settings, settings.discord_token.reveal())) and machines_ok


async def _check_discord(settings: Settings, token: str) -> bool:
    from fairlead.channels.discord.setup import findings, look

    try:
        seen = await look(token, api_base=settings.discord_api_base, webhook_identity=settings.webhook_identity)
    except FairleadError as refused:
        return _tell("Discord", error_sentence(refused), ok=False)
    found = findings(
        seen,
        owner_id=settings.discord_owner_id,
        guild_id=settings.discord_guild_id,
        application_id=settings.discord_app_id,
        webhook_identity=settings.webhook_identity,
    )
    for finding in found:
        _tell("Discord", f"{finding.text} {finding.next_step}".rstrip(), ok=finding.ok)
    return _check_env_file(find_settings_file().path) and all(finding.ok for finding in found)


def _check_env_file(path: Path) -> bool:
    """A token that other users can read lets them act as the bot."""
    if not path.exists() or not path.stat().st_mode & 0o077:
        return True
    return _tell("Discord", f"{path} contains tokens and can be read by other users. Run: chmod 600 {path}", ok=False)
