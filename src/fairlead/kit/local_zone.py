"""Time zones by their IANA names, and the machine's own: Python knows the offset alone.

What Python knows of time zones is loaded with the first one that is asked for: a daemon without schedules needs none.
"""

import os
from datetime import tzinfo
from pathlib import Path
from typing import Final

LOCALTIME: Final = Path("/etc/localtime")
_ZONES: Final = "/zoneinfo/"
NO_ZONE: Final = (ValueError, OSError, LookupError)
"""What `load_zone` raises for a name that is none."""


def load_zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - see above

    return ZoneInfo(name)


def find_local_zone(localtime: Path = LOCALTIME) -> str:
    """From TZ, else from where /etc/localtime points; UTC if neither names a zone."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if named and _is_zone(named):
        return named
    _, zones, linked = str(localtime.resolve()).rpartition(_ZONES)
    return linked if zones and localtime.exists() else "UTC"


def _is_zone(name: str) -> bool:
    try:
        return bool(load_zone(name))
    except NO_ZONE:
        return False
