"""`fairlead doctor`: look at everything a start needs, and say what to do about what is missing."""

import asyncio
import sys

import click

from fairlead.app import take_lock
from fairlead.errors import FairleadError
from fairlead.kit.files import REAL_DISK
from fairlead.observe import JobLogs, Redactor, silence_logging
from fairlead.runtimes.catalogue import available_runtimes
from fairlead.settings import Settings, load_settings
from fairlead.store.config_file import CONFIG_NAME, read_config
from fairlead.store.directories import RealDirectories
from fairlead.store.verifying import verify


@click.command()
def command() -> None:
    """Check settings, files and agents, and say what to do."""
    silence_logging()
    settings = load_settings()
    click.echo("settings   ok")
    results = [_check_state(settings), _check_projects(settings), asyncio.run(_check_agents(settings))]
    results.append(_check_channels(settings))
    sys.exit(0 if all(results) else 1)


def _tell(name: str, sentence: str, *, ok: bool) -> bool:
    click.echo(f"{name:<10} {'ok  ' if ok else 'FAIL'} {sentence}")
    return ok


def _check_state(settings: Settings) -> bool:
    try:
        take_lock(settings.state_dir).release()
        _tell("state", f"{settings.state_dir} can be written and nobody else holds it.", ok=True)
    except FairleadError as held:
        if held.code != "E_STATE_LOCKED":
            return _tell("state", held.full_sentence(), ok=False)
        _tell("state", f"a Fairlead is running here: {held.message}", ok=True)
    verdict = verify(settings.state_dir, REAL_DISK)
    for line in verdict.lines:
        _tell("journal", line, ok=verdict.ok)
    return _check_config(settings) and verdict.ok


def _check_config(settings: Settings) -> bool:
    try:
        config = read_config(settings.state_dir / CONFIG_NAME, REAL_DISK)
    except FairleadError as mistake:
        return _tell("config", mistake.full_sentence(), ok=False)
    found = "not there yet; the first start writes it" if config is None else f"{len(config.projects)} project(s)"
    return _tell("config", f"{settings.state_dir / CONFIG_NAME}: {found}.", ok=True)


def _check_projects(settings: Settings) -> bool:
    directories = RealDirectories()
    named = [*settings.projects, *([settings.project_root] if settings.project_root else [])]
    if not named:
        return _tell("projects", "none named in the settings; `fairlead chat` registers its own directory.", ok=True)
    problems = [facts.problem for facts in map(directories.inspect, named) if facts.problem]
    for problem in problems:
        _tell("projects", problem, ok=False)
    return not problems and _tell("projects", f"{len(named)} named in the settings, all there.", ok=True)


async def _check_agents(settings: Settings) -> bool:
    runtimes = available_runtimes(settings, JobLogs(settings.log_dir, Redactor([])))
    healthy = False
    for runtime in runtimes.values():
        health = await runtime.check()
        program = " ".join(part for part in (health.program, health.version) if part)
        about = "; ".join(part for part in (program, *health.notes) if part)
        _tell(f"  {runtime.name}", about, ok=health.ok)
        healthy = healthy or health.ok
        await runtime.aclose()
    return healthy


def _check_channels(settings: Settings) -> bool:
    where = f"{settings.http_host}:{settings.http_port}" if settings.http else "off; FAIRLEAD_HTTP=1 turns it on"
    _tell("HTTP", where, ok=True)
    discord = "on" if settings.discord_token else "off; DISCORD_TOKEN and DISCORD_OWNER_ID in .env turn it on"
    return _tell("Discord", discord, ok=True)
