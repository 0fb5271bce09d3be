"""Fills in what Discord adds to components when it stores them: ids and defaults. Pure."""

from typing import Any

STRING_SELECT, USER_SELECTS, SECTION, THUMBNAIL, GALLERY, FILE, SEPARATOR, CONTAINER = (
    3,
    (5, 6, 7, 8),
    9,
    11,
    12,
    13,
    14,
    17,
)


def stored(components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    taken = iter(range(1, 1_000_000))
    return [one_stored(without_nulls(item), taken) for item in components]


def one_stored(item: dict[str, Any], taken: Any) -> dict[str, Any]:
    body = dict(item)
    body["id"] = body.get("id") or next(taken)
    match body["type"]:
        case kind if kind == STRING_SELECT or kind in USER_SELECTS:
            body = {"min_values": 1, "max_values": 1, **body}
        case kind if kind == SEPARATOR:
            body = {"spacing": 1, "divider": True, **body}
        case kind if kind == CONTAINER:
            body = {"accent_color": None, "spoiler": False, **body}
        case kind if kind == THUMBNAIL:
            body = {"description": None, "spoiler": False, **body, "media": unfurled(body["media"])}
        case kind if kind == FILE:
            body = {"spoiler": False, "name": "file", "size": 0, **body, "file": unfurled(body["file"])}
        case kind if kind == GALLERY:
            body["items"] = [gallery_item(entry) for entry in body["items"]]
        case _:
            pass
    if "components" in body:
        body["components"] = [one_stored(inner, taken) for inner in body["components"]]
    if "accessory" in body:
        body["accessory"] = one_stored(body["accessory"], taken)
    return body


def without_nulls(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: without_nulls(value) for key, value in node.items() if value is not None}
    return [without_nulls(item) for item in node] if isinstance(node, list) else node


def gallery_item(entry: dict[str, Any]) -> dict[str, Any]:
    return {"description": None, "spoiler": False, **entry, "media": unfurled(entry["media"])}


def unfurled(media: dict[str, Any]) -> dict[str, Any]:
    return {"id": "0", "proxy_url": media["url"], **media}
