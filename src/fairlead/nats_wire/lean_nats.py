"""Loads nats-py without aiohttp, which it takes for its websockets wherever it is installed: ten megabytes that a
runner on TCP never uses. Imported before anything else of `nats`."""

import sys
from importlib import import_module
from typing import Final

_FOR_WEBSOCKETS: Final = "aiohttp"


def _load() -> None:
    if _FOR_WEBSOCKETS in sys.modules:
        import_module("nats.aio.transport")
        return
    sys.modules[_FOR_WEBSOCKETS] = None  # pyright: ignore[reportArgumentType] - "not installed", as long as this lasts
    try:
        import_module("nats.aio.transport")
    finally:
        del sys.modules[_FOR_WEBSOCKETS]


def allow_websockets() -> None:
    """Before a connection to ws:// or wss://."""
    transport = import_module("nats.aio.transport")
    for name in (_FOR_WEBSOCKETS, "multidict"):
        setattr(transport, name, import_module(name))


_load()
