"""The fields of a request: its body and its query become the structs of the endpoint. Knows no route by name.

`user_id` stands for `userId` everywhere: all other names are in snake_case, and people write what they are used to.
"""

from typing import Any, cast

import msgspec
from aiohttp import web

from fairlead.api.wire import USER, USER_ALIAS
from fairlead.channels.http.body import inflate_body
from fairlead.channels.http.errors import HttpRefusal
from fairlead.channels.http.mistakes import build_field_error, build_json_error
from fairlead.channels.http.routes import Endpoint
from fairlead.core.inbound import clean_text
from fairlead.errors import Code, error


async def decode_body(endpoint: Endpoint, request: web.Request, largest: int) -> msgspec.Struct | None:
    if endpoint.body is None:
        return None
    if endpoint.body_is_optional and not request.body_exists:
        return endpoint.body()
    if request.content_type != "application/json":
        sentence = f"The body must be application/json, not {request.content_type[:80]!r}."
        next_step = "Send the header `Content-Type: application/json`."
        raise HttpRefusal(415, error(Code.E_INVALID_ARGS, sentence, next_step=next_step))
    data = inflate_body(await request.read(), request.headers.get("Content-Encoding", ""), largest)
    try:
        return msgspec.json.decode(data, type=endpoint.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _convert(_decode_json(data), endpoint.body, "body", strict=True)


def decode_query(endpoint: Endpoint, request: web.Request) -> msgspec.Struct | None:
    if endpoint.query is None:
        return None
    given = {clean_text(name): clean_text(value) for name, value in request.query.items()}
    return _convert(given, endpoint.query, "query", strict=False)


def _decode_json(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise build_json_error(fault, data) from fault


def _convert(given: Any, struct: type[msgspec.Struct], what: str, *, strict: bool) -> msgspec.Struct:
    if isinstance(given, dict):
        given = _rename_user(cast("dict[str, Any]", given))
    try:
        return msgspec.convert(given, struct, strict=strict)
    except msgspec.ValidationError as fault:
        raise build_field_error(struct, given, what, strict=strict) from fault


def _rename_user(given: dict[str, Any]) -> dict[str, Any]:
    if USER_ALIAS not in given or USER in given:
        return given
    return {USER if name == USER_ALIAS else name: value for name, value in given.items()}
