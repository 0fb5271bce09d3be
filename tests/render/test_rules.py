"""A rule says exactly what it covers."""

import pytest

from fairlead.core.rules import RuleOffer
from fairlead.render.rules import rule_words


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        (RuleOffer("Bash", "prefix", "git commit"), "git commit …"),
        (RuleOffer("Bash", "exact", "make test"), "make test"),
        (RuleOffer("Edit", "path", "src/app.py"), "Edit src/app.py"),
        (RuleOffer("Write", "directory", "src/gen"), "Write src/gen/…"),
        (RuleOffer("mcp__db__query", "exact", '{"sql":"select 1"}'), 'mcp__db__query {"sql":"select 1"}'),
        (RuleOffer("mcp__clock", "exact", ""), "mcp__clock"),
    ],
)
def test_each_kind_of_rule_in_words(offer: RuleOffer, words: str):
    assert rule_words(offer) == words
