"""`fairlead` that may rename a thread twice in so many seconds, where Discord says ten minutes:
`python -m tests.channels.discord.rename_window SECONDS up`. With 0, every name that is wanted comes, however slowly."""

import sys

from fairlead.channels.discord.live import thread_titles
from fairlead.cli.main import main

if __name__ == "__main__":
    setattr(thread_titles, "WITHIN_SEC", float(sys.argv.pop(1)))  # noqa: B010 - a constant, for everybody else
    main()
