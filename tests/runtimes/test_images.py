"""Pictures in and out of a turn: which files are pictures, how many, how large, none twice."""

import base64

import pytest

from fairlead.core.engine import ImageProduced, InputFile, Noticed
from fairlead.runtimes.images import MAX_BASE64_OUT, MAX_IMAGES, NewImages, media_type_of, split_images

pytestmark = pytest.mark.anyio


PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")


@pytest.mark.req("E8")
@pytest.mark.parametrize(
    ("name", "declared", "expected"),
    [
        ("a.txt", "IMAGE/PNG", "image/png"),
        ("a.JPG", "", "image/jpeg"),
        ("a.webp", "", "image/webp"),
        ("a.png", "text/html", None),
        ("a.gif", "image/gif; charset=x", "image/gif"),
        ("a.svg", "image/svg+xml", None),
        ("a", "", None),
    ],
)
def test_a_picture_is_known_by_its_type_then_by_its_extension(name: str, declared: str, expected: str | None):
    assert media_type_of(InputFile("/x", name, declared)) == expected


@pytest.mark.req("E8")
def test_at_most_ten_pictures_and_the_rest_is_named():
    files = tuple(InputFile(f"/{n}", f"{n}.png") for n in range(12))
    pictures, others = split_images((*files, InputFile("/t", "t.txt")))
    assert (len(pictures), [file.name for file in others]) == (MAX_IMAGES, ["10.png", "11.png", "t.txt"])


@pytest.mark.req("E9")
def test_the_same_picture_is_produced_once_and_bad_ones_never():
    images = NewImages()
    block = {"type": "image", "source": {"media_type": "image/png", "data": base64.b64encode(PIXEL).decode()}}
    assert images.take(block) == ImageProduced("image/png", PIXEL)
    assert images.take(block) is None
    assert images.take({"type": "image", "mimeType": "image/gif", "data": "R0lGODlh"}) is not None
    for bad in ({"source": {"media_type": "image/png", "data": "%%"}}, {"source": 7}, None, [], {"data": "AAAA"}):
        assert images.take(bad) is None


@pytest.mark.req("E9")
def test_at_most_ten_pictures_come_out_of_a_turn():
    images = NewImages()
    sources = [{"media_type": "image/png", "data": base64.b64encode(bytes([n])).decode()} for n in range(20)]
    taken = [images.take({"source": source}) for source in sources]
    assert [type(image) for image in taken] == [ImageProduced] * MAX_IMAGES + [Noticed] + [type(None)] * 9


@pytest.mark.req("E9")
def test_a_picture_over_25_mb_is_named_once_with_its_size_and_takes_no_place():
    images = NewImages()
    large = {"source": {"media_type": "image/png", "data": "A" * (MAX_BASE64_OUT + 4)}}
    named = images.take(large)
    assert isinstance(named, Noticed)
    assert str((MAX_BASE64_OUT + 4) * 3 // 4) in named.text
    assert images.take(large) is None
    sources = [{"media_type": "image/png", "data": base64.b64encode(bytes([n])).decode()} for n in range(MAX_IMAGES)]
    assert all(isinstance(images.take({"source": source}), ImageProduced) for source in sources)
