"""A modal filled in by a person, as the data of its submission. Pure."""

from typing import Any

from .slash import CannotType

ROW, STRING_SELECT, TEXT_INPUT, LABEL = 1, 3, 4, 18


def submission(modal: dict[str, Any], typed: dict[str, Any]) -> dict[str, Any]:
    left = dict(typed)
    parts = [part(component, left) for component in modal["components"]]
    if left:
        raise CannotType(f"the modal {modal['title']!r} has no field {sorted(left)}")
    return {"custom_id": modal["custom_id"], "components": parts}


def part(component: dict[str, Any], left: dict[str, Any]) -> dict[str, Any]:
    """A row or label with its field inside; anything else is only to be read and comes back empty."""
    body = {"type": component["type"], "id": component.get("id") or 0}
    if component["type"] == ROW:
        inside = component["components"]
        return body | {"components": [field(each, each.get("label"), left) for each in inside]}
    if component["type"] == LABEL:
        return body | {"component": field(component["component"], component["label"], left)}
    return body


def field(component: dict[str, Any], label: str | None, left: dict[str, Any]) -> dict[str, Any]:
    name = next((each for each in (component["custom_id"], label) if each in left), None)
    body = {"type": component["type"], "id": component.get("id") or 0, "custom_id": component["custom_id"]}
    given = left.pop(name) if name is not None else None
    if component["type"] == STRING_SELECT:
        return body | {"values": list(given or [])}
    value = component.get("value") or "" if given is None else given
    check(component, label, value)
    return body | {"value": value}


def check(component: dict[str, Any], label: str | None, value: str) -> None:
    if not value:
        if component.get("required", True):
            raise CannotType(f"the field {label!r} must be filled in")
        return
    least, most = component.get("min_length") or 0, component.get("max_length") or 4000
    if not least <= len(value) <= most:
        raise CannotType(f"the field {label!r} takes {least} to {most} characters, not {len(value)}")
