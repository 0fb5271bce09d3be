"""The owner's days: which one a moment belongs to, and when it ends. No clock: the caller brings every moment."""

from datetime import UTC, datetime, time, timedelta, tzinfo

import msgspec

from fairlead.core import timestamps

_ONE_DAY = timedelta(days=1)


class Days(msgspec.Struct, frozen=True):
    """`zone` is where the owner lives; None is where the machine is. A day with a change of the clocks has 23 or 25
    hours, and ends at its own midnight."""

    zone: tzinfo | None = UTC

    def day_of(self, ts: str) -> str:
        return timestamps.parse(ts).astimezone(self.zone).date().isoformat()

    def end_of_day(self, ts: str) -> str:
        """The first moment of the next day."""
        tomorrow = timestamps.parse(ts).astimezone(self.zone).date() + _ONE_DAY
        return timestamps.moment(datetime.combine(tomorrow, time(), self.zone).astimezone(UTC))
