"""What Claude says about the limits of its account: five hours, a week. Pure; whatever cannot be read is left out."""

import math
from typing import Any, Final, cast

from fairlead.core import timestamps
from fairlead.core.engine import EngineEvent, LimitsReported, LimitWindow

_NAMES: Final = {
    "five_hour": "5h",
    "seven_day": "week",
    "seven_day_opus": "week opus",
    "seven_day_sonnet": "week sonnet",
}
_LONGEST_NAME: Final = 40
_LATEST: Final = 4_102_444_800
"""The year 2100, in seconds since 1970: a later time is a mistake."""


def read_limits(info: Any) -> list[EngineEvent]:
    if not isinstance(info, dict):
        return []
    said = cast("dict[str, Any]", info)
    kind = said.get("rateLimitType")
    if not isinstance(kind, str) or not kind:
        return []
    used = said.get("utilization")
    window = LimitWindow(
        name=_NAMES.get(kind, kind.replace("_", " ")[:_LONGEST_NAME]),
        used=float(used) if isinstance(used, int | float) and math.isfinite(used) else None,
        resets_at=_read_time(said.get("resetsAt")),
        is_spent=said.get("status") == "rejected",
    )
    return [LimitsReported((window,))]


def _read_time(seconds: Any) -> str:
    is_time = isinstance(seconds, int | float) and 0 < seconds < _LATEST
    return timestamps.from_epoch(seconds) if is_time else ""
