"""How a command crosses the wire: the struct of its query or body, and the call that carries a request. Pure."""

from functools import cache
from typing import Any
from urllib.parse import quote

import msgspec

from fairlead.api import wire as w
from fairlead.core.command_spec import PAGE_FIELDS, ApiRoute, CommandCatalogue, CommandSpec, field_types
from fairlead.core.replies import Reply
from fairlead.core.requests import Request
from fairlead.errors import Code, error


class ApiCall(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    path: str
    reply: type[Reply]
    body: msgspec.Struct | None = None
    query: dict[str, str] = {}


def call_for(catalogue: CommandCatalogue, request: Request, user: str) -> ApiCall:
    """Raises E_INVALID_ARGS for a command that the API does not serve."""
    spec = catalogue.spec_of(request)
    if spec is None or not spec.routes:
        raise error(Code.E_INVALID_ARGS, f"{type(request).__name__} is not offered here.")
    route = _narrowest_route(spec, request)
    parts = {field: quote(str(getattr(request, field)), safe="") for field in route.path_fields}
    sent = _make_sent_struct(spec, route, request, user)
    in_query = route.method == "GET" and sent is not None
    return ApiCall(
        method=route.method,
        path=route.path.format(**parts),
        reply=spec.reply,
        body=None if in_query else sent,
        query={n: str(v) for n, v in msgspec.to_builtins(sent).items() if v not in {"", None}} if in_query else {},
    )


def _narrowest_route(spec: CommandSpec, request: Request) -> ApiRoute:
    """The one whose path names most of what is given: one job is cancelled elsewhere than all of them."""
    usable = [route for route in spec.routes if all(getattr(request, field) for field in route.path_fields)]
    return max(usable, key=lambda route: len(route.path_fields))


def _make_sent_struct(spec: CommandSpec, route: ApiRoute, request: Request, user: str) -> msgspec.Struct | None:
    struct = sent_struct_type(spec, route)
    if struct is None:
        return None
    values = {field: getattr(request, field) for field in _sent_fields(spec, route)}
    return struct(**values) if route.user == "absent" else struct(userId=user, **values)


def sent_struct_type(spec: CommandSpec, route: ApiRoute) -> type[msgspec.Struct] | None:
    """What a route takes as its query (GET) or body (POST); None if that is nothing."""
    fields = _sent_fields(spec, route)
    if fields:
        return _make_struct(spec.request, fields, route)
    return {"required": w.OfUser, "optional": w.OfAnyUser, "absent": None}[route.user]


def _sent_fields(spec: CommandSpec, route: ApiRoute) -> tuple[str, ...]:
    return (*(argument.field for argument in spec.sent_arguments), *(PAGE_FIELDS if route.pages else ()))


@cache
def _make_struct(request: type[Request], fields: tuple[str, ...], route: ApiRoute) -> type[msgspec.Struct]:
    known = {f.name: f for f in msgspec.structs.fields(request)}
    types = field_types(request)
    users: list[Any] = {"required": [("userId", w.UserId)], "optional": [("userId", w.UserId | None, None)]}.get(
        route.user, []
    )
    own = [(name, types[name], *_default(known[name])) for name in fields]
    return msgspec.defstruct(
        route.schema or f"{request.__name__}{'Query' if route.method == 'GET' else 'Body'}",
        [*users, *own],
        frozen=True,
        omit_defaults=True,
        forbid_unknown_fields=True,  # a misspelt field is a mistake that its sender wants to hear of
        kw_only=True,
    )


def _default(field: msgspec.structs.FieldInfo) -> tuple[Any, ...]:
    if field.required:
        return ()
    made = field.default_factory is not msgspec.NODEFAULT
    return (msgspec.field(default_factory=field.default_factory) if made else field.default,)
