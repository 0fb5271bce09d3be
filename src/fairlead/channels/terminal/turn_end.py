"""The last lines of a turn: what it changed, how long it took and what it used, as far as is known. Pure."""

import msgspec

from fairlead.api import wire as w
from fairlead.core import timestamps
from fairlead.core.job_names import job_number, short_name
from fairlead.render.durations import duration
from fairlead.render.safe_text import one_line
from fairlead.render.turn_card import card_lines
from fairlead.render.words import say


class TurnUsage(msgspec.Struct):
    """Adds up what the agent reports during a turn."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    context_used: int = 0
    context_size: int = 0

    def add(self, report: w.Usage) -> None:
        self.input_tokens += report.input_tokens
        self.output_tokens += report.output_tokens
        self.cost_usd += report.cost_usd
        self.context_used = report.context_used or self.context_used
        self.context_size = report.context_size or self.context_size


def describe_turn_end(job: w.JobInfo, used: TurnUsage, lang: str) -> str:
    has_tokens = used.input_tokens or used.output_tokens
    share = 100 * used.context_used / used.context_size if used.context_size else 0.0
    cost = job.cost_usd or used.cost_usd
    return say(
        lang,
        "terminal.turn_end",
        job=short_name(job.job_id),
        machine=job.machine,
        time=duration(seconds_of(job)),
        tokens_in=f"{used.input_tokens:,}" if has_tokens else "",
        tokens_out=f"{used.output_tokens:,}" if has_tokens else "",
        cost=f"${cost:.2f}" if cost >= 0.005 else f"${cost:.4f}" if cost else "",
        context=f"{share:.0f}%" if share else "",
    )


def describe_card(job: w.JobInfo, lang: str) -> list[str]:
    """What the turn changed, and the tests that its agent ran; nothing if it changed nothing."""
    if job.changed is None:
        return []
    *lines, last = card_lines(job.changed, job.report, lang, quote=one_line)
    return [*lines, f"{last} · /changes {job_number(job.job_id)}"]


def seconds_of(job: w.JobInfo) -> float:
    if job.started_at is None or job.finished_at is None:
        return 0.0
    return max(0.0, timestamps.seconds_between(job.started_at, job.finished_at))
