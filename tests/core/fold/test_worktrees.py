"""The rules of the fold for worktrees: facts about one that is gone change nothing; what is kept goes after a week."""

import pytest

from fairlead.core import events as e
from fairlead.core.state import as_data
from tests.core.harness import OWNER, CoreHarness, folded, key_of

pytestmark = pytest.mark.req("F5")

PLANNED = e.WorktreePlanned(
    number=3,
    session_key=key_of().text,
    project="api",
    person=OWNER,
    repository="/srv/api",
    path="/wt/api/3-x",
    branch="fairlead/x",
)
MADE = e.WorktreeMade(number=3, directory="/wt/api/3-x", common_dir="/srv/api/.git", base="b", target="main")
BEGUN = e.WorktreeDiscardBegun(number=3, person=OWNER)
KEPT = e.WorktreeDiscarded(number=3, ref="refs/fairlead/discarded/abcd/3", commit="c")


@pytest.mark.parametrize(
    "fact",
    [
        e.ProjectWorktreesSet("gone", True),
        MADE,
        e.WorktreeFailed(number=3, error_code="E_INTERNAL"),
        e.WorktreeMergeBegun(number=3, person=OWNER),
        e.WorktreeMerged(number=3, target="main", before="a", after="b"),
        e.WorktreeMergeStopped(number=3, error_code="E_MERGE_BLOCKED"),
        BEGUN,
        KEPT,
    ],
)
def test_a_fact_about_a_worktree_that_is_gone_changes_nothing(core: CoreHarness, fact):
    before = as_data(core.state)
    core.take(fact)
    assert as_data(core.state) | {"seq": 0} == before | {"seq": 0}


def test_the_life_of_a_worktree(core: CoreHarness):
    for fact, status in (
        (PLANNED, "planned"),
        (MADE, "ready"),
        (e.WorktreeMergeBegun(number=3, person=OWNER, uncommitted="leave"), "merging"),
        (e.WorktreeMerged(number=3, target="main", before="b", after="c"), "ready"),
        (BEGUN, "discarding"),
    ):
        core.take(fact)
        assert core.state.worktrees[3].status == status
    assert (core.state.worktrees[3].base, core.state.worktrees[3].merges) == ("c", 1)
    assert as_data(folded(core.journal)) == as_data(core.state)


def test_what_is_kept_of_a_discarded_worktree_goes_after_a_week(core: CoreHarness):
    for fact in (PLANNED, MADE, BEGUN, KEPT):
        core.take(fact)
    core.live(7)
    assert core.state.discarded_worktrees[3].ref == KEPT.ref
    core.live(2)
    assert core.state.discarded_worktrees == {}
    assert core.state.worktrees_made == 3
