"""What the terminal says when Fairlead does not respond."""

import pytest

from fairlead.api import ServerAway
from fairlead.channels.terminal.away import describe_away
from fairlead.render.words import CATALOGUES, say


@pytest.mark.parametrize("lang", CATALOGUES)
def test_a_fairlead_that_does_not_respond_is_told_with_what_that_means(lang: str):
    away = ServerAway("http://127.0.0.1:1", "connection refused")
    alone = describe_away(away, lang)
    assert "http://127.0.0.1:1" in alone
    assert "connection refused" in alone
    assert describe_away(away, lang, "nothing_sent").startswith(alone)
    assert describe_away(away, lang, "nothing_sent").endswith(say(lang, "terminal.nothing_sent"))
