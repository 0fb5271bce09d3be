"""What the agent that asked for a task reads when the task is over. English: it is written for an agent."""

from typing import Final

from fairlead.core.state import Job
from fairlead.render.safe_text import one_line

MAX_CHARACTERS: Final = 100_000
"""Of an answer: more would fill the asking agent's memory. Its head and its tail say what matters."""


def child_result(job: Job, answer: str) -> str:
    said = _shorten(answer.strip())
    if job.state == "success":
        return f"The session {job.session_id}, which you spawned, has finished. Its answer:\n\n{said}".rstrip()
    why = ": ".join(filter(None, (job.error_code or "E_INTERNAL", one_line(job.error_message or "", 500))))
    head = f"The session {job.session_id}, which you spawned, did not finish its task ({job.state}). {why}"
    return f"{head}\n\nBefore that it said:\n\n{said}" if said else head


def _shorten(answer: str) -> str:
    if len(answer) <= MAX_CHARACTERS:
        return answer
    half = MAX_CHARACTERS // 2
    left_out = len(answer) - 2 * half
    return f"{answer[:half]}\n\n[{left_out:,} characters are left out here]\n\n{answer[-half:]}"
