"""`fairlead journal`: look into the journal without touching it, also while a daemon runs."""

import json
import sys
from collections import deque
from pathlib import Path
from typing import Any

import click

from fairlead.cli.output import tell
from fairlead.core.events import JobCompleted, JobFailed
from fairlead.core.ids import JobId
from fairlead.core.state import answer_entry_id
from fairlead.errors import Code, error
from fairlead.kit.files import REAL_DISK, read_if_there
from fairlead.render.story import describe_event
from fairlead.settings import load_settings
from fairlead.store.blobs import BLOBS_NAME
from fairlead.store.history import read_lines_about
from fairlead.store.journal import JOURNAL_NAME
from fairlead.store.reader import blocks, find_finished_end
from fairlead.store.verification import verify


@click.group()
def command() -> None:
    """Inspect the journal: verify, tail, show."""


@command.command("verify")
def verify_command() -> None:
    """Check the journal, its snapshot and the totals."""
    directory = load_settings().state_dir
    report = verify(directory, REAL_DISK)
    for line in report.lines:
        tell(line)
    sys.exit(0 if report.ok else 1)


@command.command("tail")
@click.option(
    "-n", "--lines", "count", type=click.IntRange(min=1), default=20, show_default=True, help="How many lines."
)
@click.option("--raw", is_flag=True, help="Print the lines as they are stored (JSON).")
def tail_command(*, count: int, raw: bool) -> None:
    """Print the last lines of the journal."""
    path = _journal_path()
    # A batch that is being written now, or was torn, is not part of the journal yet.
    end = find_finished_end(REAL_DISK, path, path.stat().st_size)
    last: deque[bytes] = deque(maxlen=count)
    for buffer, length in blocks(REAL_DISK, path, 0, end):
        last.extend(bytes(buffer[:length]).splitlines()[-count:])
    for line in last:
        if raw:
            tell(line)
            continue
        try:
            fields: dict[str, Any] = json.loads(line)
        except ValueError:
            tell("         (this line cannot be read; `fairlead journal verify` says why)")
            continue
        payload = json.dumps(fields["payload"], ensure_ascii=False)
        shown = payload if len(payload) <= 160 else f"{payload[:160]}…"
        tell(f"{fields['seq']:>7}  {fields['ts']}  {fields['type']:<18}  {shown}")


@command.command("show")
@click.argument("job")
def show_command(*, job: str) -> None:
    """Show what happened to one JOB, and print its answer."""
    path = _journal_path()
    recorded = read_lines_about(path, [job, answer_entry_id(JobId(job))], REAL_DISK)
    if not recorded:
        raise error(Code.E_JOB_NOT_FOUND, f"{path} has no entry about {job!r}.")
    for line in recorded:
        tell(f"{line.seq:>7}  {line.ts}  {describe_event(line.event)}")
    answers = [line.event for line in recorded if isinstance(line.event, JobCompleted | JobFailed)]
    text = _text_of(answers[-1]) if answers else ""
    if text:
        tell(f"\n{text}")


def _text_of(end: JobCompleted | JobFailed) -> str:
    if isinstance(end, JobFailed) or not end.text_blob:
        return end.text
    kept = read_if_there(load_settings().state_dir / BLOBS_NAME / end.text_blob)
    return "[The long answer is no longer kept.]" if kept is None else kept.decode()


def _journal_path() -> Path:
    path = load_settings().state_dir / JOURNAL_NAME
    if not path.exists():
        raise error(Code.E_CONFIG, f"There is no journal at {path}.", next_step="`fairlead up` creates one.")
    return path
