"""How a job's end is told: the answer, or in one line what became of it and what to do next."""

from fairlead.core.state import Job
from fairlead.render.words import error_line, say


def ending_text(job: Job, answer: str, lang: str) -> str:
    match job.state:
        case "success":
            return answer if answer.strip() or job.files else say(lang, "status.done")
        case "cancelled":
            return say(lang, "reply.job.cancelled", job=job.job_id)
        case _:
            line = error_line(lang, job.error_code or "E_INTERNAL", job=job.job_id, detail=job.error_message or "")
            hint = say(lang, "status.retry_hint", job=job.job_id)
            is_said = f"/retry {job.job_id}" in line
            return "\n".join(part for part in (answer.strip(), line, "" if is_said else hint) if part)
