"""Loads nats-py without aiohttp, which it takes for its websockets wherever it is installed: ten megabytes that a
runner on TCP never uses. Imported before anything else of `nats`."""

from importlib import import_module
from typing import Final

from fairlead.kit.optional_imports import import_without

_FOR_WEBSOCKETS: Final = "aiohttp"


def allow_websockets() -> None:
    """Before a connection to ws:// or wss://."""
    transport = import_module("nats.aio.transport")
    for name in (_FOR_WEBSOCKETS, "multidict"):
        setattr(transport, name, import_module(name))


import_without("nats.aio.transport", [_FOR_WEBSOCKETS])
