"""Loads a library without libraries that it takes wherever they are installed, and that this program never uses."""

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType


def import_without(module: str, unused: Iterable[str]) -> ModuleType:
    """Load `module` as if `unused` were not installed. What is loaded already costs nothing more, and stays."""
    with _not_installed([name for name in unused if name not in sys.modules]):
        return import_module(module)


@contextmanager
def _not_installed(names: list[str]) -> Generator[None]:
    for name in names:
        sys.modules[name] = None  # pyright: ignore[reportArgumentType] - Python's word for "cannot be imported"
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]
