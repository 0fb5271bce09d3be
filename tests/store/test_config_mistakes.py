"""A mistake in config.json is told in the words of the person who made it, whatever the reader of JSON calls it."""

import msgspec
import pytest

from fairlead.store.config_file import Config
from fairlead.store.config_mistakes import describe_mistake

pytestmark = pytest.mark.req("A18")


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ({"agents": {"goose": ["goose"]}}, "it must be an object, not a list"),
        ({"agents": {"goose": {"command": "goose acp"}}}, "command must be a list, not a text"),
        ({"agents": {"goose": {"command": None}}}, "command must be a list, not nothing"),
        ({"agents": {"goose": {"command": ["goose", 1]}}}, "command must hold a text, not a number"),
        ({"agents": {"goose": {"env": []}}}, "command is missing"),
        ({"agents": {"goose": {"comand": []}}}, "there is no field comand"),
        ({"agents": []}, "agents must be an object, not a list"),
        ({"version": "1"}, "version must be a number, not a text"),
    ],
)
def test_a_mistake_is_told_in_plain_words(written: dict, says: str):
    with pytest.raises(msgspec.ValidationError) as fault:
        msgspec.convert({"version": 1} | written, Config)
    assert describe_mistake(str(fault.value), ()) == says
    assert describe_mistake(str(fault.value), ("agents", "goose")) == f"agent 'goose': {says}"


def test_what_is_not_known_is_told_as_it_is():
    assert describe_mistake("Something new", ()) == "Something new"
