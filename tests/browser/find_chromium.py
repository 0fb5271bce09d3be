"""Which Chromium the tests drive: FAIRLEAD_CHROMIUM, else one in the PATH, else Debian's, which is installed."""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def find_chromium() -> str | None:
    named = os.environ.get("FAIRLEAD_CHROMIUM")
    found = (shutil.which(name) for name in NAMES)
    return named or next(filter(None, found), None)


def main() -> int:
    if find_chromium() is None and shutil.which("apt-get") and os.geteuid() == 0:
        wait = "DPkg::Lock::Timeout=300"  # another apt-get may be at work
        subprocess.run(["apt-get", "-o", wait, "install", "--yes", "--no-install-recommends", "chromium"], check=True)
    if find_chromium() is None:
        print("There is no Chromium here. On Debian: sudo apt install chromium. Or set FAIRLEAD_CHROMIUM to its path.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
