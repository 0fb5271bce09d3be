"""`fairlead` as a program of its own that tells which modules it has loaded: on SIGUSR1 it writes them to the file
`modules.txt` of its home directory."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from fairlead.cli.entry import main

MODULES_FILE = "modules.txt"


def write_modules(*_signal: Any) -> None:
    file = Path(os.environ["HOME"]) / MODULES_FILE
    unfinished = file.with_suffix(".new")
    unfinished.write_text("\n".join(sorted(sys.modules)))
    unfinished.rename(file)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, write_modules)
    main()
