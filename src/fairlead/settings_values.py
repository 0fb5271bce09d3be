"""One setting: its name, its rules, and how its text becomes a value. Knows no particular setting and reads no file.

`setting(...)` stands behind a field of a dataclass; `read_values` reads every such field, and collects every mistake
instead of stopping at the first. Mistakes never repeat a value, because it may be a secret.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec

Form = Literal["plain", "commas", "json"]
Others = Mapping[str, Any]
"""The value of every setting: as it was read where it stands before this one, else its default."""
Check = Callable[[Any, Others], Any]
"""Gives the value back, changed or not; raises ValueError with what is wrong."""

_METADATA: Final = "setting"
_TRUE: Final = {"1", "true", "t", "yes", "y", "on"}
_FALSE: Final = {"0", "false", "f", "no", "n", "off"}


class Secret:
    """Text that does not show itself in a repr, a log line or a traceback."""

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


class SettingRules(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str
    aliases: tuple[str, ...] = ()
    form: Form = "plain"
    example: str = ""
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    longest: int | None = None
    check: Check | None = None
    shown_default: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


def setting(default: Any = dataclasses.MISSING, *, default_factory: Any = dataclasses.MISSING, **rules: Any) -> Any:
    """The field of a dataclass that is a setting; `rules` are those of `SettingRules`."""
    metadata = {_METADATA: SettingRules(**rules)}
    if default_factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=default_factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def rules_of(settings: type) -> dict[str, SettingRules]:
    """The rules of every setting, by the name of its field."""
    fields = dataclasses.fields(settings)
    return {field.name: field.metadata[_METADATA] for field in fields if _METADATA in field.metadata}


def default_of(settings: type, field_name: str) -> Any:
    field: dataclasses.Field[Any] = next(f for f in dataclasses.fields(settings) if f.name == field_name)
    make = field.default_factory
    return field.default if make is dataclasses.MISSING else make()


def read_values(settings: type, sources: Sequence[Mapping[str, str]]) -> tuple[dict[str, Any], list[str]]:
    """The values of the fields that the sources name, and a sentence for every mistake. The first source that names a
    setting wins; an empty text counts as not set."""
    hints = get_type_hints(settings)
    rules_by_field = rules_of(settings)
    known = {field_name: default_of(settings, field_name) for field_name in rules_by_field}
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for field_name, rules in rules_by_field.items():
        text = next((source[name] for source in sources for name in rules.names if source.get(name)), "")
        if not text:
            continue
        try:
            values[field_name] = known[field_name] = _read(text, hints[field_name], rules, known)
        except ValueError as mistake:
            mistakes.append(f"{rules.name}: {mistake}.")
    return values, mistakes


def _read(text: str, hint: Any, rules: SettingRules, others: Others) -> Any:
    value = _convert(text, hint, rules)
    _check_range(value, rules)
    return value if rules.check is None else rules.check(value, others)


def _convert(text: str, hint: Any, rules: SettingRules) -> Any:
    if rules.form == "commas":
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if rules.form == "json":
        return _decode_json(text, hint, rules.example)
    if get_origin(hint) is Literal:
        return _choose(text, get_args(hint))
    if isinstance(hint, UnionType):
        [hint] = [arm for arm in get_args(hint) if arm is not type(None)]
    return _PLAIN[hint](text)


def _decode_json(text: str, hint: Any, example: str) -> Any:
    try:
        return msgspec.json.decode(text, type=hint)
    except (msgspec.MsgspecError, UnicodeError):
        raise ValueError(f"must be JSON such as {example}") from None


def _choose(text: str, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise ValueError(f"must be {' or '.join(choice for choice in choices if choice)}")
    return text


def _read_bool(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError("must be 1 or 0")
    return word in _TRUE


def _read_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("must be a whole number") from None


def _read_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("must be a number") from None


_PLAIN: Final[dict[Any, Callable[[str], Any]]] = {
    str: str,
    Path: Path,
    bool: _read_bool,
    int: _read_int,
    float: _read_float,
    Secret: Secret,
}


def _check_range(value: Any, rules: SettingRules) -> None:
    """Written so that "nan", which compares with nothing, is refused too."""
    if rules.at_least is not None and not value >= rules.at_least:
        raise ValueError(f"must be at least {rules.at_least:g}")
    if rules.above is not None and not value > rules.above:
        raise ValueError(f"must be more than {rules.above:g}")
    if rules.at_most is not None and not value <= rules.at_most:
        raise ValueError(f"must be at most {rules.at_most:g}")
    if rules.longest is not None and len(value) > rules.longest:
        raise ValueError(f"must have at most {rules.longest} characters")
