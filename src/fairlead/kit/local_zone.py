"""The machine's own time zone, by its IANA name: Python knows the offset alone."""

import os
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

LOCALTIME: Final = Path("/etc/localtime")
_ZONES: Final = "/zoneinfo/"


def find_local_zone(localtime: Path = LOCALTIME) -> str:
    """From TZ, else from where /etc/localtime points; UTC if neither names a zone."""
    _, _, linked = str(localtime.resolve()).rpartition(_ZONES)
    return next(filter(_is_zone, (os.environ.get("TZ", "").removeprefix(":"), linked)), "UTC")


def _is_zone(name: str) -> bool:
    try:
        return bool(name) and bool(ZoneInfo(name))
    except (ValueError, OSError, LookupError):
        return False
