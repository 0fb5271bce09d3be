"""`fairlead restore`: go on with an older copy of the journal, or with what is left of this one, on purpose."""

from datetime import UTC, datetime
from pathlib import Path

import click

from fairlead.cli.output import tell
from fairlead.kit.files import REAL_DISK
from fairlead.settings import load_settings
from fairlead.state_directory import take_lock
from fairlead.store.journal import JOURNAL_NAME
from fairlead.store.restoration import Forgotten, Restoration, carry_out, plan_restoration

_SHOWN_JOBS = 20


@click.command()
@click.argument("copy", required=False, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def command(*, copy: Path | None, yes: bool) -> None:
    """Restore an older COPY of the journal, or keep the undamaged part of the current one.

    COPY is an events.ndjson, or a state directory with one. Without COPY, the undamaged part of the journal in
    STATE_DIR is kept. Stop Fairlead first. The command lists what will be lost, asks, and keeps the old files.
    """
    directory = load_settings().state_dir
    source = copy / JOURNAL_NAME if copy is not None and copy.is_dir() else copy
    with take_lock(directory):
        plan = plan_restoration(directory, REAL_DISK, source.absolute() if source is not None else None)
        for line in describe_plan(plan):
            tell(line)
        if not yes:
            click.confirm("Restore?", abort=True)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        for kept in carry_out(plan, directory, REAL_DISK, stamp):
            tell(f"Kept: {kept}")
    tell("Done. Start Fairlead with `fairlead up`.")


def describe_plan(plan: Restoration) -> list[str]:
    """What will be so afterwards, before it is."""
    said = [f"{plan.source}: {plan.lines} lines are kept."]
    if plan.damage:
        said.append(f"The journal is damaged after that: {plan.damage}")
    return [*said, *_describe_forgotten(plan.forgotten)]


def _describe_forgotten(forgotten: Forgotten) -> list[str]:
    if not forgotten.facts and not forgotten.run_again:
        return ["Nothing will be lost."]
    said = [f"{forgotten.facts} events will be lost."]
    if forgotten.jobs:
        said.append(f"Jobs that will be lost: {_list_some(forgotten.jobs)}.")
    if forgotten.answers:
        said.append(f"Undelivered answers that will be lost: {_list_some(forgotten.answers)}.")
    if forgotten.keys:
        said.append(f"Messages that would run again if they are received again: {forgotten.keys}.")
    if forgotten.run_again:
        said.append(f"Jobs that have finished since and will run again: {_list_some(forgotten.run_again)}.")
    return said


def _list_some(jobs: tuple[str, ...]) -> str:
    more = f" and {len(jobs) - _SHOWN_JOBS} more" if len(jobs) > _SHOWN_JOBS else ""
    return ", ".join(jobs[:_SHOWN_JOBS]) + more
