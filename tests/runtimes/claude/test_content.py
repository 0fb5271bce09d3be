"""What claude is sent: the prompt, pictures as blocks, other files by name."""

import base64
from pathlib import Path

import pytest

from fairlead.core.engine import InputFile
from fairlead.runtimes.claude.content import MOST_INPUT, content_of

pytestmark = pytest.mark.anyio


PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")


@pytest.mark.req("E8")
def test_claude_gets_pictures_as_blocks_and_is_told_of_those_that_are_too_large(tmp_path: Path):
    small, large = tmp_path / "small.png", tmp_path / "large.png"
    small.write_bytes(PIXEL)
    large.write_bytes(b"\0" * MOST_INPUT)
    files = (InputFile(str(small), "small.png"), InputFile(str(large), "large.png"), InputFile("/n.txt", "n.txt"))
    content = content_of("look", files)

    assert [block["source"]["data"] for block in content.blocks] == [base64.b64encode(PIXEL).decode()]
    assert content.text.splitlines()[1:3] == ["- n.txt: /n.txt", f"- large.png: {large}"]
    assert [file.name for file in content.named] == ["n.txt", "large.png"]
    assert content.notes == (
        f"large.png is too large to be sent as an image ({MOST_INPUT} bytes); it is named instead.",
    )
    assert not content.fits_an_argument
