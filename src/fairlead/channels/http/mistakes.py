"""What is wrong with the fields of a request, all of it at once, in sentences about what the caller sent. Pure."""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import msgspec

from fairlead.api.wire import USER, USER_ALIAS
from fairlead.core.type_words import describe_type
from fairlead.errors import Code, FairleadError, error

_BYTE: Final = re.compile(r"\(byte (\d+)\)")
_LONGEST_NAME: Final = 60
_MOST_MISTAKES: Final = 8


def build_field_error(struct: type[msgspec.Struct], given: object, what: str, *, strict: bool) -> FairleadError:
    """`given` are plain values that cannot be made a `struct` of; `what` is "body" or "query"."""
    if not isinstance(given, Mapping):
        return error(Code.E_INVALID_ARGS, f"The {what} must be a JSON object.", next_step=_where_to_look(struct))
    fields = cast("Mapping[str, Any]", given)
    mistakes = list(_find_mistakes(struct, fields, strict=strict))[:_MOST_MISTAKES]
    sentences = " ".join(sentence for _, sentence in mistakes) or f"The {what} does not have the expected form."
    if USER in (name for name, _ in mistakes):
        next_step = f'Give `{USER}`: your own id for the person, such as "alice".'
        return error(Code.E_INVALID_USER, sentences, next_step=next_step)
    return error(Code.E_INVALID_ARGS, sentences, next_step=_where_to_look(struct))


def build_json_error(fault: Exception, data: bytes) -> FairleadError:
    return error(
        Code.E_INVALID_ARGS,
        _describe_json(fault, data),
        next_step="Send a JSON object in UTF-8; /openapi.json describes its fields.",
    )


def _describe_json(fault: Exception, data: bytes) -> str:
    if not data.strip():
        return "The body is empty."
    if isinstance(fault, UnicodeDecodeError) or "UTF-8" in str(fault):
        return "The body is not UTF-8."
    if "truncated" in str(fault):
        return "The body ends in the middle of its JSON."
    place = _BYTE.search(str(fault))
    return f"The body is not valid JSON at byte {place[1]}." if place else "The body is not JSON."


def _find_mistakes(
    struct: type[msgspec.Struct], given: Mapping[str, Any], *, strict: bool
) -> Iterator[tuple[str, str]]:
    """The name of each field with a mistake, and a sentence."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    for name in given:
        if name not in fields:
            yield name, _describe_unknown(name, list(fields))
    for name, field in fields.items():
        if name not in given:
            if field.required:
                yield name, f"Missing `{name}`."
            continue
        try:
            msgspec.convert(given[name], field.type, strict=strict)
        except msgspec.ValidationError:
            yield name, f"`{name}` must be {describe_type(field.type)}."


def _describe_unknown(name: str, known: list[str]) -> str:
    if name == USER_ALIAS and USER in known:
        return f"`{USER}` and `{USER_ALIAS}` are the same field: give one of them."
    near = difflib.get_close_matches(name, known, 1)
    return f"Unknown field `{name[:_LONGEST_NAME]}`." + (f" Did you mean `{near[0]}`?" if near else "")


def _where_to_look(struct: type[msgspec.Struct]) -> str:
    names = ", ".join(f"`{field.encode_name}`" for field in msgspec.structs.fields(struct))
    return f"The fields are {names}; /openapi.json describes them."
