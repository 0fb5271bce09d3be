"""Files for a program that takes a path apart at its commas: where one has a comma, copies in a private directory."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from fairlead.core.engine import InputFile
from fairlead.errors import Code, error
from fairlead.kit.files import read_laid_out


@asynccontextmanager
async def comma_free_files(files: tuple[InputFile, ...], program: str) -> AsyncGenerator[tuple[InputFile, ...]]:
    """The same files, or for the length of a turn copies of them. Raises E_CONFIG where there is no place for copies:
    a picture that is left out would be missed by nobody but the person."""
    if not any("," in file.path for file in files):
        yield files
        return
    with tempfile.TemporaryDirectory(prefix="fairlead-files-") as private:
        if "," in private:
            inbox = Path(files[0].path).parent
            raise error(
                Code.E_CONFIG,
                f"{program} splits paths at commas, and there is a comma in STATE_DIR ({inbox}) and one in TMPDIR"
                f" ({tempfile.gettempdir()}). Set one of the two to a path without a comma.",
            )
        yield await asyncio.to_thread(_copy_into, Path(private), files)


def _copy_into(directory: Path, files: tuple[InputFile, ...]) -> tuple[InputFile, ...]:
    copies: list[InputFile] = []
    for number, file in enumerate(files, 1):
        path = directory / f"{number}-{Path(file.path).name.replace(',', '_')}"
        path.write_bytes(read_laid_out(Path(file.path)))
        path.chmod(0o600)
        copies.append(msgspec.structs.replace(file, path=str(path)))
    return tuple(copies)
