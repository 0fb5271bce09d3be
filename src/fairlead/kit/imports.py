"""Keeps a library from loading another one only because that one is installed. Knows no library by name."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


@contextmanager
def as_if_absent(name: str) -> Generator[None]:
    """Within, importing `name` fails as if it were not installed; afterwards, or if it is loaded already, it works."""
    if name in sys.modules:
        yield
        return
    loaded: dict[str, Any] = sys.modules
    loaded[name] = None  # how Python itself marks what must not be found
    try:
        yield
    finally:
        del loaded[name]
