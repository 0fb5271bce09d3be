"""A question shows all that a person needs to decide it, the rules among it that could be made."""

from fairlead.core.questions import QuestionFields
from fairlead.core.rules import RuleOffer
from fairlead.render.questions import offered_rules, question_text
from fairlead.render.words import CATALOGUES


def permission(*offers: RuleOffer) -> QuestionFields:
    return QuestionFields(
        question_id="q_1",
        job_id="job_1",
        session_key="k",
        kind="permission",
        title="Run the tests",
        deadline="2026-01-01T00:00:00.000Z",
        tool="Bash",
        detail="pytest -q",
        offers=offers,
        project="api",
    )


def test_each_rule_is_shown_in_full_before_it_is_made():
    offers = (
        RuleOffer("Bash", "prefix", "pytest"),
        RuleOffer("Bash", "exact", "a && b " + "x" * 480),
        RuleOffer("Edit", "path", "src/app.py"),
        RuleOffer("Edit", "directory", "src"),
    )
    assert offered_rules(permission(*offers), "en") == [
        "Always: `pytest …` in api, with any arguments",
        f"Always: exactly `a && b {'x' * 480}` in api",
        "Always: `Edit src/app.py` in api",
        "Always: `Edit src/…` in api, every file below it",
    ]
    for lang in CATALOGUES:
        assert question_text(permission(*offers), lang).count("api") == 4


def test_a_question_without_rules_has_no_line_about_them():
    assert question_text(permission(), "en").endswith("```\npytest -q\n```")
