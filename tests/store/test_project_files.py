"""A project's file with its name and bytes, or the reason why it is not sent."""

import asyncio
from pathlib import Path

import pytest

from fairlead.errors import Code, FairleadError
from fairlead.ports import ProjectFile
from fairlead.store.project_files import RealProjectFiles

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def read(project: Path, path: str, largest: int = 100) -> ProjectFile:
    return await RealProjectFiles(asyncio.to_thread).read(str(project), path, largest)


async def test_a_file_comes_with_its_name_alone(tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "plot.png").write_bytes(b"picture")
    assert await read(tmp_path, "out/plot.png") == ProjectFile("plot.png", b"picture")


async def test_a_hundred_megabytes_are_refused_without_being_read(tmp_path: Path):
    with (tmp_path / "big").open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    with pytest.raises(FairleadError) as refused:
        await read(tmp_path, "big", 10 * 1024 * 1024)
    assert refused.value.code == Code.E_MESSAGE_TOO_LARGE


@pytest.mark.req("B11")
@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "missing", "with\0nul"])
async def test_whatever_is_no_file_of_the_project_is_refused(tmp_path: Path, path: str):
    (tmp_path / "secret").write_text("outside")
    (tmp_path / "project").mkdir()
    with pytest.raises(FairleadError) as refused:
        await read(tmp_path / "project", path)
    assert refused.value.code == Code.E_INVALID_PATH
