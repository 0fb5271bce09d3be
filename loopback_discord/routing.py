"""How a handler is found and what it is given. Holds no handlers itself."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from . import errors
from .model import Upload
from .world import World

if TYPE_CHECKING:
    from .server import LoopbackDiscord


class Reply(NamedTuple):
    status: int = 204
    body: Any = None


class Call(msgspec.Struct, eq=False):
    """One request, decoded. `record` of the log has the same fields plus the answer."""

    server: "LoopbackDiscord"
    method: str
    template: str
    path: str
    params: dict[str, str]
    query: Mapping[str, str]
    body: Any
    files: list[Upload]

    @property
    def world(self) -> World:
        return self.server.world

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() in ("1", "true")

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        text = self.query.get(name, str(default))
        if not text.isdigit() or not least <= int(text) <= most:
            raise errors.invalid_form(name, "NUMBER_TYPE_MAX", f"int value should be between {least} and {most}.")
        return int(text)


Handler = Callable[[Call], Awaitable[Reply]]


class Route(NamedTuple):
    method: str
    template: str
    handler: Handler
    needs_token: bool


class Routes:
    """Templates are spelled as in Discord's OpenAPI document, so that its schemas are found by them."""

    def __init__(self) -> None:
        self.all: list[Route] = []

    def on(self, method: str, template: str, *, needs_token: bool = True) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            self.all.append(Route(method, template, handler, needs_token))
            return handler

        return register
