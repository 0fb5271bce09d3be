"""A permission says each thing once, and never another command than the one that would run."""

from typing import Any

from fairlead.core.questions import QuestionFields
from fairlead.render.questions import question_text, reminder_text

DIFF = "--- /srv/api/src/a.py\n+++ /srv/api/src/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2"


def permission(**fields: Any) -> QuestionFields:
    given: dict[str, Any] = {"title": "Use Bash?", "tool": "Bash", **fields}
    return QuestionFields(
        question_id="q_1",
        job_id="job_1",
        session_key="s",
        kind="permission",
        deadline="2026-01-05T08:00:00.000Z",
        **given,
    )


def test_a_command_stands_once_and_as_it_is():
    text = question_text(
        permission(title="Run rm -rf /srv/api/build", detail="rm -rf /srv/api/build"), "en", "/srv/api"
    )
    assert text == "The agent asks for permission: Bash\n```\nrm -rf /srv/api/build\n```"


def test_a_title_that_says_more_stays():
    text = question_text(permission(title="Clean the build directory", detail="rm -rf build"), "en")
    assert text.splitlines()[1] == "Clean the build directory"


def test_the_path_of_an_edit_stands_once_and_as_people_know_it():
    asked = permission(title="Use Edit?", tool="Edit", detail="/srv/api/src/a.py", diff=DIFF)
    assert question_text(asked, "en", "/srv/api") == (
        "The agent asks for permission: Edit src/a.py\n```diff\n@@ -1 +1 @@\n-x = 1\n+x = 2\n```"
    )


def test_a_path_outside_the_project_stands_whole():
    asked = permission(title="Use Read?", tool="Read", detail="/etc/passwd")
    assert question_text(asked, "en", "/srv/api") == "The agent asks for permission: Read /etc/passwd"


def test_a_reminder_is_short_and_formats_nothing():
    asked = permission(title="**rm** <@42>", detail="rm")
    assert reminder_text(asked, "2m00s", "https://example.org/1", "en") == (
        "A question has been waiting for your answer for 2m00s: Bash: `**rm** <@42>`\nhttps://example.org/1"
    )
