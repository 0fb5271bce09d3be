"""What a value must be, in words: `a whole number from 1 to 100`. Pure; knows types, and no field by name."""

from typing import Any

from msgspec import inspect


def describe_type(wanted: Any) -> str:
    """For an annotation such as `Literal["allow", "deny"]`: "`allow` or `deny`"."""
    return _describe(inspect.type_info(wanted))


def _describe(wanted: inspect.Type) -> str:
    match wanted:
        case inspect.Metadata():
            return _describe(wanted.type)
        case inspect.StrType():
            return f"a text{_describe_length(wanted.min_length, wanted.max_length)}"
        case inspect.IntType():
            return f"a whole number{_describe_range(wanted.ge, wanted.le)}"
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType():
            return _join_choices([f"`{value}`" for value in wanted.values])
        case inspect.UnionType():
            return _join_choices([_describe(each) for each in wanted.types])
        case inspect.BytesType():
            return "bytes in base64"
        case inspect.NoneType():
            return "null"
        case inspect.DictType():
            return "an object of lists" if isinstance(wanted.value_type, inspect.VarTupleType) else "an object of texts"
        case inspect.VarTupleType(item_type=inspect.StructType() as item):
            return f"a list of objects, each with {_describe_fields(item)}"
        case inspect.VarTupleType() | inspect.ListType():
            return "a list"
        case _:
            return "of another form"


def _describe_fields(struct: inspect.StructType) -> str:
    """Those that it must have."""
    needed = [f"`{field.encode_name}` ({_describe(field.type)})" for field in struct.fields if field.required]
    *first, last = needed or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def _describe_length(least: int | None, most: int | None) -> str:
    if most is not None:
        return f" of {least or 0} to {most} characters"
    return " that is not empty" if least == 1 else f" of at least {least} characters" if least else ""


def _describe_range(least: int | None, most: int | None) -> str:
    if least is not None and most is not None:
        return f" from {least} to {most}"
    return f" of at least {least}" if least is not None else f" of at most {most}" if most is not None else ""


def _join_choices(choices: list[str]) -> str:
    *first, last = choices
    return f"{', '.join(first)} or {last}" if first else last
