"""Events from outside and budgets in random histories, and bugs in them that the judge must catch."""

from collections import Counter
from collections.abc import Callable
from itertools import count

import pytest

from fairlead.core import message_ids
from fairlead.core.decide import scheduling
from fairlead.core.fold import jobs
from fairlead.core.ids import MessageId
from fairlead.flow.hooks import deliveries
from fairlead.testing.outside_events import everybody_with_hooks_and_budgets
from fairlead.testing.simulator import simulate

AT_A_TIME = 15
MOST_SEEDS = 60

Bug = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.req("A8", "E6")
@pytest.mark.parametrize("first", range(0, 3 * AT_A_TIME, AT_A_TIME))
def test_an_event_is_one_job_and_no_job_begins_on_a_spent_budget(first: int):
    happened: Counter[str] = Counter()
    for seed in range(first, first + AT_A_TIME):
        report = simulate(seed, actors=everybody_with_hooks_and_budgets)
        assert not report.violations, str(report)
        happened.update(report.happened)
    # Worlds in which nothing happens would prove nothing.
    assert happened["events"] > 3 * AT_A_TIME
    assert happened["repeated events"] > AT_A_TIME
    assert happened["forged events"] > 2 * AT_A_TIME
    assert happened["questions about a budget"] > AT_A_TIME / 2


def take_every_delivery_for_a_new_event(patch: pytest.MonkeyPatch) -> None:
    numbers = count()
    patch.setattr(message_ids, "hook_id", lambda name, key: MessageId(f"hook-{name}-{key}-{next(numbers)}"))


def believe_every_signature(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(deliveries, "is_genuine", lambda hook, _secret, _delivery, _now: hook is not None)


def start_jobs_whatever_was_spent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scheduling, "is_spent", lambda _state, _project, _today: False)


def forget_what_small_jobs_cost(patch: pytest.MonkeyPatch) -> None:
    right = jobs.count_spending

    def count_some(state, project, day, spent):
        if spent.cost_usd < 0.02:
            return
        right(state, project, day, spent)

    patch.setattr(jobs, "count_spending", count_some)


BUGS: dict[Bug, str] = {
    take_every_delivery_for_a_new_event: "two jobs",
    believe_every_signature: "the forged event",
    start_jobs_whatever_was_spent: "began while the budget of api was spent",
    forget_what_small_jobs_cost: "began while the budget of api was spent",
}


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_the_judge_catches(bug: Bug, monkeypatch: pytest.MonkeyPatch):
    bug(monkeypatch)
    for seed in range(MOST_SEEDS):
        report = simulate(seed, actors=everybody_with_hooks_and_budgets)
        if report.violations:
            assert any(BUGS[bug] in violation for violation in report.violations), str(report)
            return
    raise AssertionError(f"{bug.__name__} was not caught in {MOST_SEEDS} worlds")
