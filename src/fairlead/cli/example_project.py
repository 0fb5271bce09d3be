"""A small project for a first conversation: made once, in the user's data directory, and theirs to change."""

import os
from pathlib import Path
from typing import Final

from fairlead.errors import Code, error

_FILES: Final = {
    "README.md": """\
# Example

A small program for trying Fairlead. Change it, break it, delete it: nothing else uses it.

Things to ask an agent:

- What does this project do?
- The total of shopping.py is wrong. Find out why, and correct it.
- Write a test for shopping.py.
""",
    "shopping.py": '''\
"""Adds up a shopping list."""

PRICES = {"apple": 0.50, "bread": 2.20, "coffee": 6.90}


def total(items):
    result = 0
    for name, count in items.items():
        result = PRICES[name] * count
    return result


if __name__ == "__main__":
    print(f"Total: {total({'apple': 4, 'bread': 1, 'coffee': 2}):.2f}")
''',
}


def example_directory() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "fairlead" / "example"


def make_example() -> Path:
    """The directory of the example. What is there already stays as it is. Raises E_CONFIG."""
    directory = example_directory()
    if directory.is_dir():
        return directory
    try:
        directory.mkdir(parents=True)
        for name, content in _FILES.items():
            (directory / name).write_text(content)
    except OSError as fault:
        raise error(
            Code.E_CONFIG,
            f"The example project cannot be created: {fault}.",
            next_step="Use `fairlead chat` in another directory.",
        ) from None
    return directory
