"""Which deliveries a person must hear of at once, wherever they are. Pure: knows no channel and mentions nobody."""

from fairlead.core import timestamps
from fairlead.core.inbound import Ring
from fairlead.core.job_states import RETRYABLE
from fairlead.core.ping_rule import PingRule
from fairlead.core.state import Job


def question_rings(rule: PingRule, ring: Ring = "usual") -> bool:
    return rule.ping != "never" if ring == "usual" else ring != "never"


def end_rings(rule: PingRule, job: Job) -> bool:
    """Whether the person who asked must hear of the end of this job. Who cancelled a job knows of it. What
    the job itself says comes before the rule of the channel."""
    if job.ring != "usual":
        is_failure = job.state in RETRYABLE
        return job.ring != "never" and (is_failure or (job.ring == "always" and job.state == "success"))
    if rule.ping == "never":
        return False
    if job.state in RETRYABLE:
        return True
    return job.state == "success" and rule.ping == "done" and turn_seconds(job) > rule.long_turn_sec


def turn_seconds(job: Job) -> float:
    """From its start to its end; 0 for a job that never began or has not ended."""
    if job.started_at is None or job.finished_at is None:
        return 0.0
    return timestamps.seconds_between(job.started_at, job.finished_at)
