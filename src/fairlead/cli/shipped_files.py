"""The files that come with the program: in the installed package, or in the checkout that it runs from."""

from pathlib import Path
from typing import Final

import fairlead

_PACKAGE: Final = Path(fairlead.__file__).parent
_IN_CHECKOUT: Final = {
    ".env.example": ".env.example",
    "fairlead.service": "packaging/fairlead.service",
    "dev.fairlead.plist": "packaging/dev.fairlead.plist",
    "fairlead-runner.service": "packaging/fairlead-runner.service",
    "dev.fairlead.runner.plist": "packaging/dev.fairlead.runner.plist",
}


def shipped_file(name: str) -> Path:
    installed = _PACKAGE / "shipped" / name
    return installed if installed.exists() else checkout() / _IN_CHECKOUT[name]


def checkout() -> Path:
    """The directory above `src`; meaningful only where the program runs from its source."""
    return _PACKAGE.parents[1]
