"""Names of files that came from outside."""

import unicodedata
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kit.file_names import PICTURE_TYPES, clean_media_type, clean_name, name_on_disk

pytestmark = pytest.mark.req("E8")

ANY_NAME = st.text(max_size=300) | st.text("\u6e2f\u1112\u1161\u200d ab.-", min_size=90, max_size=130)
ANY_TYPE = st.text(max_size=60) | st.sampled_from(["", "text/plain", "text/plain; charset=utf-8", "application/x-none"])


@given(ANY_NAME)
def test_a_cleaned_name_stays_in_its_directory_and_can_be_seen(name: str) -> None:
    clean = clean_name(name)
    assert 1 <= len(clean) <= 100
    assert len(clean.encode()) <= 200
    assert "/" not in clean
    assert "\\" not in clean
    assert not clean.startswith((".", "-"))
    assert all(unicodedata.category(c) not in {"Cc", "Cf", "Cs"} for c in clean)
    assert clean_name(clean) == clean


@given(ANY_NAME, ANY_TYPE | st.sampled_from(sorted(PICTURE_TYPES.values())))
def test_a_name_on_disk_is_one_word_that_no_program_takes_apart(name: str, media_type: str) -> None:
    named = name_on_disk(name, media_type)
    assert not set(named) & set(" \t\n/\\,;!?()[]{}'\"@&*$`|<>#~:\0")
    assert not named.startswith((".", "-"))
    assert len(named.encode()) <= 220


@given(ANY_NAME, st.sampled_from(sorted(PICTURE_TYPES.values())))
def test_a_picture_has_the_extension_of_a_picture_of_its_kind(name: str, media_type: str) -> None:
    assert PICTURE_TYPES[PurePosixPath(name_on_disk(name, media_type)).suffix.lower()] == media_type


@pytest.mark.parametrize(
    ("name", "media_type", "named"),
    [
        ("cat.png", "image/png", "cat.png"), ("Photo One.PNG", "image/png", "Photo_One.PNG"),
        ("scan.jpeg", "image/jpeg", "scan.jpeg"), ("cat", "image/jpeg", "cat.jpg"),
        ("cat.txt", "image/png; q=1", "cat.txt.png"), ("cat.png", "image/webp", "cat.png.webp"),
        ("notes", "text/plain; charset=utf-8", "notes.txt"), ("notes.md", "text/plain", "notes.md"),
        ("archive.tar.gz", "application/gzip", "archive.tar.gz"), ("data", "", "data"), ("", "image/gif", "file.gif"),
        ("../../etc/passwd", "application/x-unknown-thing", "passwd"), ("a,b.png", "image/png", "a_b.png"),
        ("-rf", "text/plain", "rf.txt"), (".bashrc", "", "bashrc"), ("a\nb.txt", "", "ab.txt"),
    ],
)  # fmt: skip
def test_an_extension_is_kept_or_comes_from_the_type(name: str, media_type: str, named: str) -> None:
    assert name_on_disk(name, media_type) == named


@pytest.mark.parametrize(
    ("given_type", "clean"),
    [
        ("Text/Plain; charset=utf-8", "text/plain"), ("image/svg+xml", "image/svg+xml"), ("", ""), ("text", ""),
        ("text/plain\n@/etc/passwd", ""), ("../..", ""), ("text/", ""),
    ],
)  # fmt: skip
def test_a_media_type_is_one_or_none(given_type: str, clean: str) -> None:
    assert clean_media_type(given_type) == clean
