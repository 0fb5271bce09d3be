"""Runs Fairlead's command line with a clock that is off: `python shifted_clock.py SECONDS COMMAND …`.

The standard library's wall clock is shifted before anything of Fairlead is loaded; Fairlead itself is not touched."""

import datetime as dt
import runpy
import sys
import time

SECONDS = float(sys.argv[1])
_real_time = time.time


class ShiftedDatetime(dt.datetime):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:
        return dt.datetime.fromtimestamp(_real_time() + SECONDS, tz)


time.time = lambda: _real_time() + SECONDS
dt.datetime = ShiftedDatetime
sys.argv = ["fairlead", *sys.argv[2:]]
runpy.run_module("fairlead", run_name="__main__", alter_sys=True)
