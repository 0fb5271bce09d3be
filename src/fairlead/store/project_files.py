"""Files of a project for those who may not see the disk: `ports.ProjectFiles`."""

import os
from pathlib import Path

from fairlead.errors import Code, FairleadError, error
from fairlead.kit.files_beneath import NotBeneath, open_beneath
from fairlead.ports import ProjectFile
from fairlead.store.history import Offload


class RealProjectFiles:
    def __init__(self, offload: Offload) -> None:
        self._offload = offload

    async def read(self, project_path: str, path: str, largest: int) -> ProjectFile:
        return await self._offload(lambda: _read(Path(project_path), path, largest))


def _read(project: Path, path: str, largest: int) -> ProjectFile:
    if "\0" in path:
        raise error(Code.E_INVALID_PATH, "A path holds no NUL character.")
    try:
        with open_beneath(project, path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > largest:
                raise _too_large(path, size, largest)
            data = file.read(largest + 1)
    except NotBeneath:
        raise error(Code.E_INVALID_PATH, f"{path[:200]} is not in the project, so it is not sent.") from None
    except OSError as fault:
        raise error(Code.E_INVALID_PATH, f"{path[:200]}: {fault.strerror or fault}.") from fault
    if data is None or len(data) > largest:  # it grew while it was read
        raise _too_large(path, largest + 1, largest)
    return ProjectFile(Path(path).name, data)


def _too_large(path: str, size: int, largest: int) -> FairleadError:
    return error(
        Code.E_MESSAGE_TOO_LARGE, f"{path[:200]} has {size} bytes or more; at most {largest} can be sent as a file."
    )
