"""One setting: its text becomes a value, or a sentence that says what it must be and never repeats it."""

import dataclasses
from pathlib import Path
from typing import Any, Literal

import pytest

from fairlead.settings_values import Others, Secret, read_values, setting

pytestmark = pytest.mark.req("A17")


def check_even(value: int, others: Others) -> int:
    if value % 2 and others["colour"] != "odd":
        raise ValueError("must be even")
    return value


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sample:
    colour: Literal["red", "odd"] = setting("red", name="COLOUR", description="x")
    size: int = setting(2, name="SIZE", aliases=("LENGTH",), description="x", at_least=0, at_most=10, check=check_even)
    share: float | None = setting(None, name="SHARE", description="x", above=0)
    is_on: bool = setting(False, name="IS_ON", description="x")
    place: Path = setting(Path("/"), name="PLACE", description="x")
    word: str = setting("", name="WORD", description="x", longest=3)
    names: tuple[str, ...] = setting((), name="NAMES", description="x", form="commas")
    paths: tuple[str, ...] = setting((), name="PATHS", description="x", form="json", example='["/a"]')
    token: Secret | None = setting(None, name="TOKEN", description="x")


def read(*sources: dict[str, str]) -> tuple[dict[str, Any], list[str]]:
    return read_values(Sample, sources)


def test_texts_become_values_of_their_fields_types():
    texts = {
        "COLOUR": "odd", "SIZE": " 3 ", "SHARE": "0.5", "IS_ON": "Yes", "PLACE": "/srv", "WORD": "abc",
        "NAMES": "a, b,,", "PATHS": '["/a", "/b"]', "TOKEN": "t",
    }  # fmt: skip
    expected = Sample(
        colour="odd", size=3, share=0.5, is_on=True, place=Path("/srv"), word="abc", names=("a", "b"),
        paths=("/a", "/b"), token=Secret("t"),
    )  # fmt: skip
    assert read(texts) == ({f.name: getattr(expected, f.name) for f in dataclasses.fields(Sample)}, [])


@pytest.mark.parametrize(
    ("texts", "mistake"),
    [
        ({"COLOUR": "blue"}, "COLOUR: must be red or odd."),
        ({"SIZE": "x"}, "SIZE: must be a whole number."),
        ({"SIZE": "1.5"}, "SIZE: must be a whole number."),
        ({"SIZE": "-2"}, "SIZE: must be at least 0."),
        ({"SIZE": "12"}, "SIZE: must be at most 10."),
        ({"SIZE": "3"}, "SIZE: must be even."),
        ({"LENGTH": "3"}, "SIZE: must be even."),
        ({"SHARE": "much"}, "SHARE: must be a number."),
        ({"SHARE": "0"}, "SHARE: must be more than 0."),
        ({"SHARE": "nan"}, "SHARE: must be more than 0."),
        ({"IS_ON": "perhaps"}, "IS_ON: must be 1 or 0."),
        ({"WORD": "four"}, "WORD: must have at most 3 characters."),
        ({"PATHS": "/a"}, 'PATHS: must be JSON such as ["/a"].'),
        ({"PATHS": "[1]"}, 'PATHS: must be JSON such as ["/a"].'),
    ],
)
def test_a_mistake_says_what_the_value_must_be(texts: dict[str, str], mistake: str):
    assert read(texts) == ({}, [mistake])


def test_every_mistake_is_collected():
    _, mistakes = read({"COLOUR": "blue", "SIZE": "x", "IS_ON": "?"})
    assert [mistake.partition(":")[0] for mistake in mistakes] == ["COLOUR", "SIZE", "IS_ON"]


def test_the_first_source_wins_also_with_another_name():
    assert read({"LENGTH": "4"}, {"SIZE": "6", "WORD": "b"}) == ({"size": 4, "word": "b"}, [])
    assert read({"SIZE": "", "WORD": ""}, {"SIZE": "6"}) == ({"size": 6}, [])


def test_a_secret_does_not_show_itself():
    assert "hidden" not in f"{Secret('hidden')} {Secret('hidden')!r} {read({'TOKEN': 'hidden'})}"
    assert Secret("hidden").reveal() == "hidden"
