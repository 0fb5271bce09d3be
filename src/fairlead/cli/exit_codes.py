"""The exit codes of every command, and the one place that prints an error before one."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

EXIT_FAILED: Final = 1
EXIT_CONFIG: Final = 78
EXIT_LOCKED: Final = 75
"""systemd does not restart on these two: `RestartPreventExitStatus=75 78`."""


@contextmanager
def errors_end_the_command() -> Generator[None]:
    from fairlead.errors import Code, FairleadError  # not above: `--help` needs none of this

    try:
        yield
    except FairleadError as fault:
        from fairlead.cli.output import tell
        from fairlead.render.errors import error_sentence

        tell(f"fairlead: {error_sentence(fault)}", err=True)
        codes = {
            Code.E_STATE_LOCKED: EXIT_LOCKED,
            Code.E_CONFIG: EXIT_CONFIG,
            Code.E_JOURNAL_BROKEN: EXIT_CONFIG,
            Code.E_MACHINE_REMOVED: EXIT_CONFIG,
            Code.E_RUNNER_SUPERSEDED: EXIT_CONFIG,  # a restart would supersede the other runner, and so on
        }
        sys.exit(codes.get(fault.code, EXIT_FAILED))
