"""What a person is shown of a request, and what a rule for the session covers."""

import json
from typing import Any

import pytest

from fairlead.runtimes.claude.agent_requests import detail_of

pytestmark = [pytest.mark.anyio, pytest.mark.req("E7")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"pattern": "key", "path": "/srv/api"}, {"pattern": "key", "path": "/home"}),
        ({"path": "/srv/api/build", "recursive": False}, {"path": "/srv/api/build", "recursive": True}),
    ],
)
def test_a_tool_that_we_do_not_know_is_shown_with_all_of_its_input(one: dict[str, Any], other: dict[str, Any]):
    assert detail_of("mcp__files__do", one) != detail_of("mcp__files__do", other)
    assert json.loads(detail_of("mcp__files__do", other)) == other


def test_a_command_outside_of_the_sandbox_is_another_command():
    inside, outside = {"command": "make"}, {"command": "make", "dangerouslyDisableSandbox": True}
    assert detail_of("Bash", inside) == "make"
    assert detail_of("Bash", outside) == "make\n(dangerouslyDisableSandbox: true)"


def test_a_rule_for_a_very_long_command_covers_no_other_that_begins_like_it():
    harmless, harmful = "true; " * 4000 + "true", "true; " * 4000 + "rm -rf /"
    shown = detail_of("Bash", {"command": harmful})
    assert detail_of("Bash", {"command": harmless}) != shown
    assert f"{len(harmful)} characters in all" in shown
