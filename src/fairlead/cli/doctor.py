"""`fairlead doctor`: look at everything a start needs, and say what to do about what is missing."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

import click

from fairlead.app import take_lock
from fairlead.cli.env_file import ENV_FILE
from fairlead.cli.health import check_all, describe_health
from fairlead.errors import FairleadError
from fairlead.kit.files import REAL_DISK
from fairlead.observe import JobLogDirectory, Redactor, silence_logging
from fairlead.render.errors import error_sentence, error_text
from fairlead.runtimes.catalogue import available_runtimes, missing_programs
from fairlead.settings import Settings, load_settings
from fairlead.store.config_file import CONFIG_NAME, read_config
from fairlead.store.directories import RealDirectories
from fairlead.store.verification import verify

_TO_HAVE_IT: Final = "To have this agent, install it, or add its directory to PATH."


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
    found = "not there yet; the first start writes it" if config is None else f"{len(config.projects)} project(s)"
    return _tell("config", f"{settings.state_dir / CONFIG_NAME}: {found}.", ok=True)


def _check_projects(settings: Settings) -> bool:
    directories = RealDirectories()
    named = [*settings.projects, *([settings.project_root] if settings.project_root else [])]
    if not named:
        return _tell("projects", "none named in the settings; `fairlead chat` registers its own directory.", ok=True)
    problems = [facts.problem for facts in map(directories.inspect, named) if facts.problem]
    for problem in problems:
        _tell("projects", f"{problem} Make it, or correct PROJECTS or FAIRLEAD_PROJECT_ROOT.", ok=False)
    return not problems and _tell("projects", f"{len(named)} named in the settings, all there.", ok=True)


async def _check_agents(settings: Settings) -> bool:
    runtimes = available_runtimes(settings, JobLogDirectory(settings.log_dir, Redactor([])))
    healthy = False
    async for name, health in check_all(runtimes.values()):
        _tell(f"  {name}", describe_health(health), ok=health.ok)
        healthy = healthy or health.ok
    for runtime in runtimes.values():
        await runtime.aclose()
    for program in missing_programs(settings):
        click.echo(f"  {program:<8} -    not found on PATH ({os.environ.get('PATH', '')}). {_TO_HAVE_IT}")
    return healthy


def _check_channels(settings: Settings) -> bool:
    where = f"{settings.http_host}:{settings.http_port}" if settings.http else "off; FAIRLEAD_HTTP=1 turns it on"
    _tell("HTTP", where, ok=True)
    if settings.discord_token is None:
        return _tell("Discord", "off; `fairlead init` turns it on.", ok=True)
    return asyncio.run(_check_discord(settings, settings.discord_token.get_secret_value()))


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
    return _check_env_file(ENV_FILE.absolute()) and all(finding.ok for finding in found)


def _check_env_file(path: Path) -> bool:
    """A token that other users can read lets them act as the bot."""
    if not path.exists() or not path.stat().st_mode & 0o077:
        return True
    return _tell("Discord", f"{path} can be read by others, and tokens stand in it. Run: chmod 600 {path}", ok=False)
