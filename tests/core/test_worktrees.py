"""Names of branches: safe for git, shells and file systems, whatever a title says."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.worktrees import MAX_SLUG, WorktreeWork, branch_name, branch_slug, free_branch

pytestmark = pytest.mark.req("F5")

NOW = "2026-11-18T03:05:00.000Z"


@given(st.text(max_size=200))
def test_a_slug_is_safe_whatever_the_title_says(title: str):
    slug = branch_slug(title)
    assert re.fullmatch(r"([a-z0-9]+(-[a-z0-9]+)*)?", slug)
    assert len(slug) <= MAX_SLUG


def test_a_branch_is_called_after_the_title_or_the_moment():
    assert branch_name("Fix the parser!", "api", NOW) == "fairlead/fix-the-parser"
    assert branch_name("🎉", "api", NOW) == "fairlead/api-11-18-0305"
    assert branch_name("a" * 100, "api", NOW) == f"fairlead/{'a' * MAX_SLUG}"
    assert branch_slug("one two " * 20).endswith("two")


def test_a_name_that_is_taken_gets_a_number():
    assert free_branch("fairlead/x", frozenset()) == "fairlead/x"
    assert free_branch("fairlead/x", frozenset({"fairlead/x", "fairlead/x-2"})) == "fairlead/x-3"


def test_ignored_files_alone_are_no_work():
    assert WorktreeWork(ignored_total=5).is_nothing
    assert not WorktreeWork(submodules=("lib",)).is_nothing
