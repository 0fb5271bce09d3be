"""What a standing rule covers, and which rules a request offers."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.rules import LONGEST_RULE, RuleOffer, RuleSubject, covers, offers_for
from fairlead.core.shell_commands import plain_words

PYTEST = RuleOffer("Bash", "prefix", "pytest")


def command(text: str) -> RuleSubject:
    return RuleSubject("Bash", text, command=text)


def edit(path: str, tool: str = "Edit") -> RuleSubject:
    return RuleSubject(tool, f"/srv/api/{path}", path=path)


def test_a_prefix_rule_covers_its_program_with_any_arguments_and_nothing_else():
    assert covers(PYTEST, command("pytest"))
    assert covers(PYTEST, command("pytest -q 'a b'"))
    assert not covers(PYTEST, command("pytest-xdist"))
    assert not covers(PYTEST, command("python -m pytest"))
    assert not covers(PYTEST, command("pytest && rm -rf ~"))
    assert not covers(PYTEST, RuleSubject("Read", "pytest", command="pytest"))
    assert not covers(PYTEST, RuleSubject("Bash", "pytest"))  # a shell elsewhere, or with more than a command
    assert not covers(RuleOffer("Bash", "prefix", "git"), command("git push"))
    assert not covers(RuleOffer("Bash", "prefix", "bash"), command("bash -c x"))


@given(st.lists(st.text(max_size=5), max_size=4), st.text(max_size=12))
def test_what_a_prefix_rule_covers_begins_with_its_words(arguments: list[str], rest: str):
    for text in (shlex.join(["pytest", *arguments]), f"pytest{rest}", f"pytest {rest}"):
        if covers(PYTEST, command(text)):
            assert (plain_words(text) or ())[:1] == ("pytest",)
            assert shlex.split(text)[:1] == ["pytest"]


@given(st.text(max_size=30))
def test_every_offer_covers_the_request_that_it_was_made_of(text: str):
    for subject in (command(text), edit(text.strip("/")), RuleSubject("mcp__db__query", text)):
        for offer in offers_for(subject):
            assert covers(offer, subject)
            assert offer.text.isprintable()


def test_an_exact_rule_covers_the_same_words_alone():
    rule = RuleOffer("Bash", "exact", "make test | tail -5")
    assert covers(rule, command("make test | tail -5"))
    assert not covers(rule, command("make test | tail -50"))
    assert not covers(rule, RuleSubject("Bash", "make test | tail -5"))
    tool = RuleOffer("mcp__db__query", "exact", '{"sql":"select 1"}')
    assert covers(tool, RuleSubject("mcp__db__query", '{"sql":"select 1"}'))
    assert not covers(tool, RuleSubject("mcp__db__query", '{"sql":"drop"}'))


def test_a_rule_about_a_path_covers_that_file_or_what_is_below_it():
    file, below = RuleOffer("Edit", "path", "src/app.py"), RuleOffer("Edit", "directory", "src")
    assert covers(file, edit("src/app.py"))
    assert not covers(file, edit("src/app.pyc"))
    assert not covers(file, edit("src/app.py", "Write"))
    assert covers(below, edit("src/a/b.py"))
    assert not covers(below, edit("src"))
    assert not covers(below, edit("srcs/a.py"))
    assert not covers(below, edit(""))
    assert not covers(below, edit("src/.git/hooks/pre-commit"))
    assert not covers(RuleOffer("Edit", "path", ".env"), edit(".env"))


@pytest.mark.parametrize(
    ("subject", "offers"),
    [
        (command("pytest -q"), (PYTEST,)),
        (command("git commit -m x"), (RuleOffer("Bash", "prefix", "git commit"),)),
        (command("sudo make"), (RuleOffer("Bash", "exact", "sudo make"),)),
        (command("make a && make b"), (RuleOffer("Bash", "exact", "make a && make b"),)),
        (command("make\nrm x"), ()),
        (command("make `date`"), ()),
        (command("echo " + "a" * LONGEST_RULE + ";"), ()),
        (RuleSubject("Bash", "pytest"), ()),
        (edit("src/a/b.py"), (RuleOffer("Edit", "path", "src/a/b.py"), RuleOffer("Edit", "directory", "src/a"))),
        (edit("setup.py"), (RuleOffer("Edit", "path", "setup.py"),)),
        (edit(".github/ci.yml"), ()),
        (edit("src/.env"), ()),
        (RuleSubject("Edit", "/etc/passwd"), ()),
        (RuleSubject("WebFetch", "https://x.test/a"), (RuleOffer("WebFetch", "exact", "https://x.test/a"),)),
    ],
)
def test_the_narrowest_useful_rules_are_offered(subject: RuleSubject, offers: tuple[RuleOffer, ...]):
    assert offers_for(subject) == offers
