"""What is wrong with an entry of config.json, in words for the person who wrote it. Pure; knows no file."""

import re
from typing import Final

_KINDS: Final = {
    "array": "a list",
    "object": "an object",
    "str": "a text",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}
_EXPECTED: Final = re.compile(r"Expected `(\w+)`, got `(\w+)`(?: - at `(.*)`)?")
_MISSING: Final = re.compile(r"Object missing required field `(\w+)`")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*?)`")
_FIELD: Final = re.compile(r"\.(\w+)(\[\d+\])?$")


def describe_mistake(fault: str, entry: tuple[str, ...]) -> str:
    """`fault` is msgspec's sentence; `entry` is the section and the name of the entry it is about, if it is one."""
    what = _describe(fault)
    return f"{entry[0].removesuffix('s')} {entry[1]!r}: {what}" if entry else what


def _describe(fault: str) -> str:
    if missing := _MISSING.match(fault):
        return f"{missing[1]} is missing"
    if unknown := _UNKNOWN.match(fault):
        return f"there is no field {unknown[1]}"
    if (found := _EXPECTED.match(fault)) and found[1] in _KINDS and found[2] in _KINDS:
        wanted, given = _KINDS[found[1]], _KINDS[found[2]]
        field = _FIELD.search(found[3] or "")
        if field is not None and field[2]:
            return f"{field[1]} must hold {wanted}, not {given}"
        return f"{field[1] if field is not None else 'it'} must be {wanted}, not {given}"
    return fault
