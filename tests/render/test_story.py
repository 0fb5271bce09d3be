"""Facts of the journal as sentences."""

from fairlead.core.events import JobFailed
from fairlead.render.story import describe_event


def test_a_failure_is_told_with_its_words_where_it_has_any():
    failed = JobFailed(job_id="job_1", session_key="k", error_code="E_AGENT_ERROR", error_message="Overloaded")
    assert describe_event(failed) == "failed with E_AGENT_ERROR: Overloaded"
    silent = JobFailed(job_id="job_1", session_key="k", error_code="E_EMPTY_MESSAGE", error_message="")
    assert describe_event(silent) == "failed with E_EMPTY_MESSAGE"
