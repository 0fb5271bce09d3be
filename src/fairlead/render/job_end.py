"""How a job's end is told: the answer, or what became of it and what to do next; and the small line under it."""

from typing import Final

from fairlead.core.attention import turn_seconds
from fairlead.core.job_names import short_name
from fairlead.core.machines.places import machine_of
from fairlead.core.state import Job
from fairlead.render.details import translate_detail
from fairlead.render.durations import duration
from fairlead.render.safe_text import code_block, last_lines
from fairlead.render.turn_card import context_words
from fairlead.render.words import error_line, error_next_step, error_what, say

_DETAIL_LINES: Final = 8
_DETAIL_CHARACTERS: Final = 900
_SHORT_DETAIL: Final = 200
_WORTH_TELLING_SEC: Final = 10.0


def ending_text(job: Job, answer: str, lang: str, *, has_retry_button: bool = False) -> str:
    match job.state:
        case "success":
            return answer if answer.strip() or job.files else say(lang, "status.done")
        case "cancelled":
            return say(lang, "reply.job.cancelled", job=short_name(job.job_id))
        case _:
            return _failure_text(job, answer, lang, has_retry_button=has_retry_button)


def _failure_text(job: Job, answer: str, lang: str, *, has_retry_button: bool) -> str:
    """What the agent's program printed last stands as it was printed, below the sentence that says what happened."""
    detail = translate_detail((job.error_message or "").strip(), lang)
    is_short = "\n" not in detail and len(detail) <= _SHORT_DETAIL
    code, retry = job.error_code or "E_INTERNAL", f"/retry {job.job_id}"
    line = error_line(lang, code, job=job.job_id, detail=detail if is_short else "")
    is_step_a_button = has_retry_button and retry in error_next_step(lang, code, job=job.job_id)
    if is_step_a_button and job.state == "failed":  # after a crash the person has to look at the project first
        said = error_what(lang, code, job=job.job_id)
        line = f"{code}: {said} ({detail})" if detail and is_short else f"{code}: {said}"
    block = "" if is_short else code_block(last_lines(detail, _DETAIL_LINES, _DETAIL_CHARACTERS))
    hint = "" if has_retry_button or retry in line else say(lang, "status.retry_hint", job=job.job_id)
    return "\n".join(part for part in (answer.strip(), line, block, hint) if part)


def small_line(job: Job, mention: str, lang: str) -> str:
    """Who is to hear of it, on which other machine the turn ran, how long it took, and what it used; empty if there is
    nothing to tell."""
    seconds = turn_seconds(job)
    tokens = job.input_tokens + job.output_tokens
    has_card = job.tree is not None and job.tree.changed is not None
    parts = [
        mention,
        machine_of(job.project_path),
        duration(seconds) if seconds >= _WORTH_TELLING_SEC or tokens or mention or has_card else "",
        say(lang, "chat.tokens", count=short_number(tokens)) if tokens else "",
        f"${job.cost_usd:.2f}" if job.cost_usd >= 0.005 else "",
        context_words(job.report, lang) if has_card else "",
    ]
    return " · ".join(filter(None, parts))


def short_number(number: int) -> str:
    """`950`, `12.3k`, `1.2M`."""
    if number < 1000:
        return str(number)
    if number < 999_950:
        return f"{number / 1000:.1f}k"
    return f"{number / 1_000_000:.1f}M"
