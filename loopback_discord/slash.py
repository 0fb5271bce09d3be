"""A slash command as typed, checked against the registered commands and turned into interaction data.

Pure.
"""

from typing import Any

from .model import Attachment, Channel, User

SUBCOMMAND, GROUP, STRING, INTEGER, BOOLEAN, USER, CHANNEL, NUMBER, ATTACHMENT = 1, 2, 3, 4, 5, 6, 7, 10, 11
PYTHON_TYPES: dict[int, tuple[type, ...]] = {
    STRING: (str,), INTEGER: (int,), BOOLEAN: (bool,), USER: (User,), CHANNEL: (Channel,),
    NUMBER: (int, float), ATTACHMENT: (Attachment,),
}  # fmt: skip


class CannotType(AssertionError):  # noqa: N818 - reads as what happened to the person
    """Discord's own client would not let a person send this."""


def offered(
    commands: dict[int | None, list[dict[str, Any]]], channel: Channel, path: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The command and the chain of sub-commands;

    the guild's own commands hide global ones of the same name.
    """
    name, *rest = path.split()
    here = (commands.get(channel.guild_id, []) if channel.guild else []) + commands[None]
    command = next((each for each in here if each["name"] == name and each["type"] == 1), None)
    if command is None:
        raise CannotType(f"/{name} is not offered here; there are {[each['name'] for each in here]}")
    context = 0 if channel.guild else 1
    contexts = command.get("contexts")
    if (contexts is not None and context not in contexts) or (context and command.get("dm_permission") is False):
        raise CannotType(f"/{name} is not offered in {'guilds' if channel.guild else 'direct messages'}")
    chain: list[dict[str, Any]] = []
    inside = command
    for word in rest:
        inside = next((each for each in inside.get("options", []) if each["name"] == word), {})
        if inside.get("type") not in (SUBCOMMAND, GROUP):
            raise CannotType(f"/{path}: there is no sub-command {word!r}")
        chain.append(inside)
    if any(each["type"] in (SUBCOMMAND, GROUP) for each in inside.get("options", [])):
        raise CannotType(f"/{path} wants a sub-command")
    return command, chain


def interaction_data(
    command: dict[str, Any],
    chain: list[dict[str, Any]],
    typed: dict[str, Any],
    *,
    focused: str | None = None,
) -> dict[str, Any]:
    """`focused` names the option that is being typed, for an autocomplete: then nothing is complete yet."""
    known = {option["name"]: option for option in (chain[-1] if chain else command).get("options", [])}
    unknown = set(typed) - set(known)
    if unknown:
        raise CannotType(f"/{command['name']} has no option {sorted(unknown)}; it has {sorted(known)}")
    options: list[dict[str, Any]] = []
    for name, option in known.items():
        if name in typed:
            options.append(filled(option, typed[name], focused=name == focused))
        elif option.get("required") and focused is None:
            raise CannotType(f"/{command['name']} needs the option {name!r}")
    for part in reversed(chain):
        options = [{"name": part["name"], "type": part["type"], "options": options}]
    data: dict[str, Any] = {"id": command["id"], "name": command["name"], "type": 1, "options": options}
    if "guild_id" in command:
        data["guild_id"] = command["guild_id"]
    return data


def filled(option: dict[str, Any], value: Any, *, focused: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": option["name"], "type": option["type"]}
    if focused:
        if not option.get("autocomplete"):
            raise CannotType(f"the option {option['name']!r} has no autocomplete")
        return entry | {"value": str(value), "focused": True}
    check(option, value)
    return entry | {"value": str(value.id) if isinstance(value, User | Channel | Attachment) else value}


def check(option: dict[str, Any], value: Any) -> None:
    name, kinds = option["name"], PYTHON_TYPES[option["type"]]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise CannotType(f"the option {name!r} takes {kinds}, not {value!r}")
    choices = [choice["value"] for choice in option.get("choices") or []]
    if choices and value not in choices:
        raise CannotType(f"the option {name!r} takes one of {choices}, not {value!r}")
    size = len(value) if isinstance(value, str) else value
    if isinstance(size, int | float):
        least = option.get("min_length", option.get("min_value", size))
        most = option.get("max_length", option.get("max_value", size))
        most = min(most, 6000) if isinstance(value, str) else most
        if not least <= size <= most:
            raise CannotType(f"the option {name!r} takes {least} to {most}, not {size}")
