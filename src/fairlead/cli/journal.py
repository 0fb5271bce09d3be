"""`fairlead journal`: look into the journal without touching it, also while a daemon runs."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from fairlead.errors import Code, error
from fairlead.kit.files import REAL_DISK
from fairlead.render.story import in_words
from fairlead.settings import load_settings
from fairlead.store.journal import JOURNAL_NAME, find_lines
from fairlead.store.verifying import verify


@click.group()
def command() -> None:
    """Look into the journal: verify, tail, show."""


@command.command("verify")
def verify_command() -> None:
    """Check every rule of the journal, its snapshot and the account."""
    directory = load_settings().state_dir
    report = verify(directory, REAL_DISK)
    for line in report.lines:
        click.echo(line)
    sys.exit(0 if report.ok else 1)


@command.command("tail")
@click.option("-n", "--lines", "count", default=20, show_default=True, help="How many lines.")
@click.option("--raw", is_flag=True, help="The lines as they are written.")
def tail_command(*, count: int, raw: bool) -> None:
    """Print the last lines of the journal."""
    path = _journal_path()
    for line in path.read_bytes().splitlines()[-count:]:
        if raw:
            click.echo(line)
            continue
        fields: dict[str, Any] = json.loads(line)
        payload = json.dumps(fields["payload"], ensure_ascii=False)
        shown = payload if len(payload) <= 160 else f"{payload[:160]}…"
        click.echo(f"{fields['seq']:>7}  {fields['ts']}  {fields['type']:<18}  {shown}")


@command.command("show")
@click.argument("job")
def show_command(*, job: str) -> None:
    """Tell the story of one JOB, and print its answer."""
    path = _journal_path()
    recorded = find_lines(REAL_DISK, path, path.stat().st_size, [job, f"debt_{job}"])
    if not recorded:
        raise error(Code.E_JOB_NOT_FOUND, f"{path} has no line about {job!r}.")
    for line in recorded:
        click.echo(f"{line.seq:>7}  {line.ts}  {in_words(line.event)}")
    answers = [getattr(line.event, "text", "") for line in recorded if type(line.event).__name__ == "JobCompleted"]
    if answers and answers[-1]:
        click.echo(f"\n{answers[-1]}")


def _journal_path() -> Path:
    path = load_settings().state_dir / JOURNAL_NAME
    if not path.exists():
        raise error(Code.E_CONFIG, f"There is no journal at {path}.", next_step="`fairlead up` begins one.")
    return path
