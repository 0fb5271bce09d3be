"""Discord's limits that its OpenAPI document does not state, checked by hand.

Pure: bodies in, refusals out.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from . import errors
from .model import COMPONENTS_V2, Upload, walk_components

MAX_FILE_BYTES = 10 * 1024 * 1024
BUTTON, STRING_SELECT, ACTION_ROW, TEXT_DISPLAY = 2, 3, 1, 10
COMMAND_NAME = re.compile(r"^[-_'\w]{1,32}$")


def length(text: str) -> int:
    """Discord counts code points, after trimming the ends."""
    return len(text.strip())


def check_message(body: dict[str, Any], files: Sequence[Upload], *, new: bool) -> None:
    check_content(body)
    check_embeds(body.get("embeds") or [])
    check_components(body)
    check_files(body, files)
    check_nonce(body.get("nonce"))
    if new:
        check_not_empty(body, files)


def check_content(body: dict[str, Any]) -> None:
    content = body.get("content")
    if content and (body.get("flags") or 0) & COMPONENTS_V2:
        raise errors.invalid_form(
            "content",
            "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
            "The 'content' field cannot be used",
        )
    if content and length(content) > 2000:
        raise errors.invalid_form("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")


def check_embeds(embeds: list[dict[str, Any]]) -> None:
    if len(embeds) > 10:
        raise errors.invalid_form("embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
    if sum(map(embed_length, embeds)) > 6000:
        raise errors.invalid_form("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000")
    for number, embed in enumerate(embeds):
        for key, most in (("title", 256), ("description", 4096)):
            if length(embed.get(key) or "") > most:
                raise errors.invalid_form(
                    f"embeds.{number}.{key}", "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length."
                )


def embed_length(embed: dict[str, Any]) -> int:
    texts = [embed.get("title"), embed.get("description")]
    texts += [(embed.get("footer") or {}).get("text"), (embed.get("author") or {}).get("name")]
    for field in embed.get("fields") or []:
        texts += [field.get("name"), field.get("value")]
    return sum(length(text or "") for text in texts)


def check_components(body: dict[str, Any]) -> None:
    components = body.get("components") or []
    v2 = bool((body.get("flags") or 0) & COMPONENTS_V2)
    if not v2 and len(components) > 5:
        raise errors.invalid_form("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
    everything = walk_components(components)
    if not v2 and any(item["type"] > 8 for item in everything):
        raise errors.invalid_form(
            "components.0.type", "UNION_TYPE_CHOICES", 'Value of field "type" must be one of (1,).'
        )
    if v2 and len(everything) > 40:
        raise errors.invalid_form("components", "COMPONENT_MAX_TOTAL", "The total number of components exceeds 40")
    if v2 and sum(length(item.get("content") or "") for item in everything) > 4000:
        raise errors.invalid_form("components", "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED", "Text exceeds 4000")
    check_custom_ids(everything)
    for row in (item for item in everything if item["type"] == ACTION_ROW):
        check_row(row)


def check_custom_ids(everything: list[dict[str, Any]]) -> None:
    ids = [item["custom_id"] for item in everything if item.get("custom_id")]
    if any(len(each) > 100 for each in ids):
        raise errors.invalid_form(
            "components.0.custom_id", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length."
        )
    if len(set(ids)) != len(ids):
        raise errors.invalid_form(
            "components", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated"
        )


def check_row(row: dict[str, Any]) -> None:
    inside = row.get("components") or []
    buttons = [item for item in inside if item["type"] == BUTTON]
    if not inside or len(inside) > 5 or (len(inside) > 1 and len(buttons) != len(inside)):
        raise errors.invalid_form("components.0", "COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified row is too wide")
    for button in buttons:
        check_button(button)


def check_button(button: dict[str, Any]) -> None:
    if len(button.get("label") or "") > 80:
        raise errors.invalid_form("components.0.label", "BASE_TYPE_MAX_LENGTH", "Must be 80 or fewer in length.")
    is_link = button.get("style") == 5
    if is_link == bool(button.get("custom_id")) or is_link != bool(button.get("url")):
        raise errors.invalid_form("components.0", "BUTTON_COMPONENT_INVALID", "A button has a custom id or a url")


def check_files(body: dict[str, Any], files: Sequence[Upload]) -> None:
    if len(files) > 10 or len(body.get("attachments") or []) > 10:
        raise errors.invalid_form("attachments", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
    if any(len(file.data) > MAX_FILE_BYTES for file in files):
        raise errors.file_too_large()


def check_nonce(nonce: object) -> None:
    if isinstance(nonce, str) and len(nonce) > 25:
        raise errors.invalid_form("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer in length.")


def check_not_empty(body: dict[str, Any], files: Sequence[Upload]) -> None:
    said = (body.get("content") or "").strip()
    if not (said or files or any(body.get(key) for key in ("embeds", "components", "sticker_ids", "poll"))):
        raise errors.empty_message()


def check_thread_name(name: object) -> None:
    if not isinstance(name, str) or not 1 <= length(name) <= 100:
        raise errors.invalid_form("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")


def check_thread_change(body: dict[str, Any]) -> None:
    """The document's union of four shapes would let these through: another shape does not name them."""
    for key in ("archived", "locked", "invitable"):
        if key in body and not isinstance(body[key], bool):
            raise errors.invalid_form(key, "BOOLEAN_TYPE_CONVERT", "Must be either true or false.")
    if "auto_archive_duration" in body and body["auto_archive_duration"] not in (60, 1440, 4320, 10080):
        raise errors.invalid_form("auto_archive_duration", "BASE_TYPE_CHOICES", "Must be one of 60, 1440, 4320, 10080")
    if "name" in body:
        check_thread_name(body["name"])


def check_choices(choices: list[dict[str, Any]]) -> None:
    if len(choices) > 25:
        raise errors.invalid_form("data.choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
    for number, choice in enumerate(choices):
        for key in ("name", "value"):
            if isinstance(choice[key], str) and not 1 <= len(choice[key]) <= 100:
                raise errors.invalid_form(
                    f"data.choices.{number}.{key}",
                    "BASE_TYPE_BAD_LENGTH",
                    "Must be between 1 and 100 in length.",
                )


def check_modal(data: dict[str, Any]) -> None:
    if not 1 <= len(data.get("title") or "") <= 45:
        raise errors.invalid_form("data.title", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 45 in length.")
    if not 1 <= len(data.get("components") or []) <= 5:
        raise errors.invalid_form("data.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
    check_custom_ids(walk_components(data["components"]))


def check_commands(commands: list[dict[str, Any]]) -> None:
    names = [(command.get("type") or 1, command["name"]) for command in commands]
    if len(set(names)) != len(names):
        raise errors.invalid_form("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Command names must be unique")
    if sum(kind == 1 for kind, _ in names) > 100:
        raise errors.Refusal(400, 30032, "Maximum number of application commands reached (100)")
    for number, command in enumerate(commands):
        if (command.get("type") or 1) == 1:
            check_command(command, str(number))


def check_command(command: dict[str, Any], path: str) -> None:
    name = command["name"]
    if not COMMAND_NAME.match(name) or name != name.lower():
        raise errors.invalid_form(f"{path}.name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
    if not 1 <= len(command.get("description") or "") <= 100:
        raise errors.invalid_form(f"{path}.description", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100.")
    options = command.get("options") or []
    if len(options) > 25 or len({option["name"] for option in options}) != len(options):
        raise errors.invalid_form(f"{path}.options", "APPLICATION_COMMAND_OPTIONS_BAD", "At most 25, unique names")
    required = [bool(option.get("required")) for option in options]
    if required != sorted(required, reverse=True):
        raise errors.invalid_form(
            f"{path}.options", "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "Required options come first"
        )
    if len(json.dumps(option_texts(command))) > 8000:
        raise errors.invalid_form(path, "APPLICATION_COMMAND_TOO_LARGE", "Command exceeds maximum size (8000)")
    for number, option in enumerate(options):
        check_choices_of(option, f"{path}.options.{number}")
        check_command(option, f"{path}.options.{number}")


def check_choices_of(option: dict[str, Any], path: str) -> None:
    choices = option.get("choices") or []
    if len(choices) > 25 or (choices and option.get("autocomplete")):
        raise errors.invalid_form(f"{path}.choices", "BASE_TYPE_MAX_LENGTH", "At most 25, and none with autocomplete")


def option_texts(command: dict[str, Any]) -> list[object]:
    """What counts towards a command's 8000 characters: names, descriptions, values; no translations."""
    texts: list[object] = [command["name"], command.get("description")]
    for choice in command.get("choices") or []:
        texts += [choice["name"], choice["value"]]
    for option in command.get("options") or []:
        texts += option_texts(option)
    return texts
