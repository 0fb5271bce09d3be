"""Forms of an ACP agent: the questions that a person sees, and what they say as the values of the form. Pure."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, cast

import msgspec

from fairlead.core.engine import AskedItem, Option, QuestionRequested, Response
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.agent_requests import AgentRequest
from fairlead.runtimes.acp.translate import as_dict

_YES: Final = "Yes"
_NO: Final = "No"
_TRUE: Final = frozenset({"yes", "y", "true", "on", "1"})
_FALSE: Final = frozenset({"no", "n", "false", "off", "0"})
_SEPARATOR: Final = ", "
_OWN_WORDS: Final = "_custom"

Read = Callable[[str], tuple[Any, str]]
"""The value that a person's words mean, None if they mean none; and those of the words that fit nowhere."""


class UnfitResponse(Exception):  # noqa: N818 - says what happened
    """The form cannot be filled in with what the person said."""


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One property of a form: the item that a person sees, and how what they say becomes its value."""

    name: str
    item: AskedItem
    read: Read
    is_required: bool = False
    own_words: str = ""
    """The property beside this one that takes words which are none of the choices."""


def form_request(request_id: str, params: wire.ElicitationParams) -> AgentRequest | None:
    """None for a form that has nothing that a person could fill in. Its `respond` raises UnfitResponse."""
    fields = _fields(params)
    if not fields:
        return None

    def respond(response: Response) -> dict[str, Any]:
        if response.verdict == "deny":
            return {"action": "decline"}
        return {"action": "accept", "content": _content(fields, response)}

    return AgentRequest(QuestionRequested(request_id, tuple(field.item for field in fields)), respond)


# --- what a person sees ----------------------------------------------------------------------------------------------


def _fields(params: wire.ElicitationParams) -> list[Field]:
    schema = as_dict(params.requested_schema)
    all_named = {name: as_dict(one) for name, one in as_dict(schema.get("properties")).items() if isinstance(one, dict)}
    asked = {name: one for name, one in all_named.items() if not _is_for_own_words(name, all_named)}
    texts = _texts(params.message, asked)
    required = as_list(schema.get("required"))
    fields: list[Field] = []
    for name, one in asked.items():
        item, read = _item(name, one, texts[name])
        own_words = f"{name}{_OWN_WORDS}" if f"{name}{_OWN_WORDS}" in all_named else ""
        fields.append(Field(name=name, item=item, read=read, is_required=name in required, own_words=own_words))
    return fields


def _is_for_own_words(name: str, properties: dict[str, dict[str, Any]]) -> bool:
    """Claude puts a text `question_0_custom` beside the choices of `question_0`; a person sees one question."""
    return name.endswith(_OWN_WORDS) and name.removesuffix(_OWN_WORDS) in properties


def _texts(message: str, properties: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The agent's message stands before the first question, and alone where there is only one. The texts differ,
    because responses are told apart by them."""
    if len(properties) == 1 and message:
        return dict.fromkeys(properties, message)
    texts = {name: _words(one.get("description")) or _title(name, one) for name, one in properties.items()}
    often = Counter(texts.values())
    texts = {name: text if often[text] == 1 else f"{text} ({name})" for name, text in texts.items()}
    first = next(iter(texts), None)
    if first is not None and message:
        texts[first] = f"{message}\n{texts[first]}"
    return texts


def _item(name: str, schema: dict[str, Any], text: str) -> tuple[AskedItem, Read]:
    header = _title(name, schema)
    match _type(schema):
        case "boolean":
            return AskedItem(text, (Option(_YES), Option(_NO)), header), _read_switch
        case "array":
            several = _enum(as_dict(schema.get("items")))
            item = AskedItem(text, _options(several), header, several=True)
            return item, lambda said: _read_several(said, several)
        case "number" | "integer" as kind:
            return AskedItem(text, (), header), lambda said: _read_number(said, kind)
        case _:
            values = _enum(schema)
            item = AskedItem(text, _options(values), header)
            return item, lambda said: _read_one(said, values)


def _title(name: str, schema: dict[str, Any]) -> str:
    return _words(schema.get("title")) or name


def _type(schema: dict[str, Any]) -> Any:
    kind: Any = schema.get("type")
    return next((one for one in as_list(kind) if one != "null"), None) if isinstance(kind, list) else kind


Values = dict[str, tuple[Any, str]]
"""By the label that people read: the value, and a description."""


def _enum(schema: dict[str, Any]) -> Values:
    listed = [as_dict(one) for key in ("oneOf", "anyOf") for one in as_list(schema.get(key))]
    listed = [one for one in listed if "const" in one] or [{"const": one} for one in as_list(schema.get("enum"))]
    often = Counter(_label(one) for one in listed)
    return {
        label if often[label] == 1 else f"{label} ({one['const']})": (one["const"], _words(one.get("description")))
        for one in listed
        if (label := _label(one))
    }


def _label(one: dict[str, Any]) -> str:
    return _words(one.get("title")) or str(one["const"])


def _options(values: Values) -> tuple[Option, ...]:
    return tuple(Option(label, description) for label, (_, description) in values.items())


# --- what a person says ----------------------------------------------------------------------------------------------


def _content(fields: list[Field], response: Response) -> dict[str, Any]:
    """What a person typed instead of choosing anything answers the first question."""
    chosen = response.chosen or {fields[0].item.text: response.message}
    content: dict[str, Any] = {}
    for field in fields:
        said = chosen.get(field.item.text, "").strip()
        if not said:
            continue
        value, rest = field.read(said)
        if value is not None:
            content[field.name] = value
        if rest and not field.own_words:
            raise UnfitResponse(f"{rest[:200]!r} is not a valid answer to {field.item.header!r}.")
        if rest:
            content[field.own_words] = rest
    missing = [field for field in fields if field.is_required and not {field.name, field.own_words} & content.keys()]
    if missing:
        raise UnfitResponse(f"There is no answer for {', '.join(repr(field.item.header) for field in missing)}.")
    return content


def _read_switch(said: str) -> tuple[Any, str]:
    known = said.lower()
    return (known in _TRUE, "") if known in _TRUE | _FALSE else (None, said)


def _read_number(said: str, kind: str) -> tuple[Any, str]:
    try:
        number = int(said) if kind == "integer" else float(said)
    except ValueError:
        return None, said
    return (number, "") if math.isfinite(number) else (None, said)


def _read_one(said: str, values: Values) -> tuple[Any, str]:
    """Without choices, all words are an answer."""
    if not values:
        return said, ""
    label = _find_label(said, values)
    return (None, said) if label is None else (values[label][0], "")


def _read_several(said: str, values: Values) -> tuple[Any, str]:
    """Labels may hold the separator themselves, so the words are cut into whole labels where that is possible."""
    parts = said.split(_SEPARATOR)
    if not values:
        return parts, ""
    labels = _cut_into_labels(parts, values)
    found = set(labels or [label for part in parts if (label := _find_label(part, values)) is not None])
    rest = [] if labels else [part for part in parts if _find_label(part, values) is None]
    return [value for label, (value, _) in values.items() if label in found] or None, _SEPARATOR.join(rest)


def _find_label(said: str, values: Values) -> str | None:
    """By the label or by the value, whatever the case."""
    if said in values:
        return said
    wanted = said.strip().casefold()
    return next((one for one, (value, _) in values.items() if wanted in {one.casefold(), str(value).casefold()}), None)


def _cut_into_labels(parts: list[str], values: Values) -> list[str] | None:
    """From the end to the beginning: the labels that make up the rest of the parts, the longest label first."""
    known: dict[int, list[str] | None] = {len(parts): []}
    longest_first = sorted(values, key=len, reverse=True)
    for start in reversed(range(len(parts))):
        known[start] = None
        for label in longest_first:
            end = start + label.count(_SEPARATOR) + 1
            rest = known.get(end)
            if rest is not None and _SEPARATOR.join(parts[start:end]) == label:
                known[start] = [label, *rest]
                break
    return known[0]


def as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _words(value: Any) -> str:
    return value if isinstance(value, str) else ""
