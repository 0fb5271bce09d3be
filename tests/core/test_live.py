"""What watchers are told."""

import msgspec

from fairlead.core.live import LiveEvent, RuleApplied
from fairlead.core.rules import RuleOffer


def test_a_live_event_says_what_it_is_and_of_which_job():
    applied = RuleApplied("job_1", "k", 3, RuleOffer("Bash", "prefix", "pytest"))
    written = msgspec.json.decode(msgspec.json.encode(applied))
    assert (written["kind"], written["job_id"], written["number"]) == ("RuleApplied", "job_1", 3)
    assert msgspec.convert(written, LiveEvent) == applied
