"""Facts of the journal as sentences."""

from fairlead.core.events import JobFailed
from fairlead.render.story import describe_event


def test_a_failure_is_told_with_its_words_where_it_has_any():
    failed = JobFailed("job_1", "k", "E_AGENT_ERROR", "Overloaded")
    assert describe_event(failed) == "failed with E_AGENT_ERROR: Overloaded"
    assert describe_event(JobFailed("job_1", "k", "E_EMPTY_MESSAGE", "")) == "failed with E_EMPTY_MESSAGE"
