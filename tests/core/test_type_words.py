"""What a value must be, in words."""

from typing import Annotated, Any, Literal

import msgspec
import pytest

from fairlead.api.wire import NewFile
from fairlead.core.type_words import describe_type

A_FILE = "`name` (a text of 1 to 255 characters) and `data` (bytes in base64)"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (str, "a text"),
        (Annotated[str, msgspec.Meta(min_length=1)], "a text that is not empty"),
        (Annotated[str, msgspec.Meta(min_length=1, max_length=9)] | None, "a text of 1 to 9 characters or null"),
        (int, "a whole number"),
        (Annotated[int, msgspec.Meta(ge=1)], "a whole number of at least 1"),
        (Annotated[int, msgspec.Meta(ge=1, le=100)], "a whole number from 1 to 100"),
        (bool, "true or false"),
        (Literal["allow", "deny"], "`allow` or `deny`"),
        (tuple[str, ...], "a list"),
        (bytes, "bytes in base64"),
        (tuple[NewFile, ...], f"a list of objects, each with {A_FILE}"),
        (dict[str, str], "an object of texts"),
        (dict[str, tuple[str, ...]], "an object of lists"),
    ],
)
def test_a_type_is_described_to_the_person_who_must_fill_it(wanted: Any, words: str):
    assert describe_type(wanted) == words
