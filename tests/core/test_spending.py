"""What was spent lately: read from the sums of the state, never from jobs."""

import pytest

from fairlead.core.decide.job_ends import Completed, Failure
from fairlead.core.events import Spent
from fairlead.core.spending import SHOWN_DAYS, SpentPart, list_spending
from fairlead.errors import Code
from tests.core.harness import CoreHarness

pytestmark = pytest.mark.req("G9")

ONE_DOLLAR = Spent(input_tokens=900, output_tokens=100, cost_usd=1.0)


def test_each_day_has_its_sums_by_project_and_agent_and_a_failure_costs_too(core: CoreHarness):
    for end in (Completed("done", spent=ONE_DOLLAR), Failure(Code.E_CLI_EXIT_NONZERO, "no", spent=ONE_DOLLAR)):
        job_id = core.say("work")
        assert core.start() == job_id
        core.end(job_id, end)
    first = core.now[:10]
    core.later(days=2)
    job_id = core.say("more")
    core.start()
    core.end(job_id, Completed("done", spent=Spent(output_tokens=7)))
    today = core.now[:10]
    found = list_spending(core.state, today)
    assert (len(found.days), found.days[-1], found.days[-3]) == (SHOWN_DAYS, today, first)
    assert found.parts == (SpentPart(first, "api", "echo", 2.0, 2000), SpentPart(today, "api", "echo", 0.0, 7))


def test_the_parts_of_a_day_are_together_what_its_budget_counts(core: CoreHarness):
    for _ in range(3):
        job_id = core.say("work")
        core.start()
        core.end(job_id, Completed("done", spent=ONE_DOLLAR))
    (day,) = core.state.spending.values()
    whole = day["api"]
    assert (whole.usd, whole.tokens) == (sum(p.usd for p in whole.by_agent), sum(p.tokens for p in whole.by_agent))


def test_days_that_are_longer_ago_than_the_page_shows_are_left_out(core: CoreHarness):
    job_id = core.say("work")
    core.start()
    core.end(job_id, Completed("done", spent=ONE_DOLLAR))
    core.later(days=SHOWN_DAYS)
    assert list_spending(core.state, core.now[:10]).parts == ()
