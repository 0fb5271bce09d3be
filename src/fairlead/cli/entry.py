"""Where `fairlead` begins. A daemon or a runner that is started as services start it needs no library for command
lines: that would take a megabyte of it for as long as it runs. Everything else, also an option that is not there, is
click's."""

import sys
from typing import Final

from fairlead.kit.optional_imports import import_without

_DAEMON: Final = (["up"], ["up", "--no-chat"])
_RUNNER: Final = ["runner", "run"]
_FOR_ARCHIVES: Final = ("bz2", "lzma")
"""What shutil takes for archives that nothing here makes or opens with it: a third of a megabyte."""


def main() -> None:
    if sys.argv[1:] in _DAEMON:
        sys.exit(_run_daemon(no_chat="--no-chat" in sys.argv))
    if sys.argv[1:] == _RUNNER:
        sys.exit(_run_runner())
    from fairlead.cli.main import main as read_command_line

    read_command_line()


def _run_daemon(*, no_chat: bool) -> int:
    import_without("shutil", _FOR_ARCHIVES)
    from fairlead.cli.exit_codes import errors_end_the_command
    from fairlead.cli.serving import serve

    try:
        with errors_end_the_command():
            return serve(no_chat=no_chat)
    except KeyboardInterrupt:  # before the daemon listens for signals; click says it in the same words
        sys.stderr.write("\nAborted!\n")
        return 1


def _run_runner() -> int:
    import_without("shutil", _FOR_ARCHIVES)
    from fairlead.cli.exit_codes import errors_end_the_command
    from fairlead.cli.running import run_runner

    try:
        with errors_end_the_command():
            run_runner()
            return 0
    except KeyboardInterrupt:
        sys.stderr.write("\nAborted!\n")
        return 1
