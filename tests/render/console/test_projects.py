"""The page *Projects*: what is shown of one, and to whom its forms are."""

import pytest

from fairlead.core.replies import ProjectInfo, ProjectReport
from fairlead.render.console.projects import ProjectLine, projects_page

pytestmark = pytest.mark.req("G9")


def line(**more: object) -> ProjectLine:
    given = {"number": 1, "name": "<i>shop</i>", "path": "/srv/a b", "enabled_tools": ("claude", "codex")}
    info = ProjectInfo(**{**given, "default_tool": "codex", **more})  # pyright: ignore[reportArgumentType]
    report = ProjectReport(
        name=info.name,
        session_total=3,
        running_sessions=1,
        queued_jobs=2,
        failed_jobs_24h=1,
        last_error="E_CLI_TIMEOUT (job_1)",
    )
    return ProjectLine(info, report)


def test_a_project_is_shown_with_its_agents_its_numbers_and_what_is_wrong():
    page = projects_page((line(disabled="The directory is gone.", worktree=True),), "en", can_change=True)
    expected = (
        "claude, <strong>codex</strong> (default)",
        "new sessions get a worktree",
        "Sessions: 3, running: 1, jobs that wait: 2",
        "the last one: E_CLI_TIMEOUT (job_1)",
        "The directory is gone.",
        'name="worktree" value="no"',
    )
    assert [word for word in expected if word not in page] == []
    assert "<i>" not in page


def test_a_guest_has_the_button_to_use_it_and_no_other():
    page = projects_page((line(),), "en", can_change=False)
    assert page.count("<form") == 1
    assert 'action="/console/projects/use"' in page
    assert "<form" not in projects_page((line(active=True),), "en", can_change=False)
