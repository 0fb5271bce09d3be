"""What a command is: its words, its arguments, its structs, and where it is offered. Knows no command by name.

A channel offers commands in one of two ways: from a *menu*, whose options are filled in one by one, or as a *line* that
is typed. Beside that a command has routes of the API.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, Literal, get_type_hints

import msgspec

from fairlead.core.replies import Reply
from fairlead.core.requests import Request
from fairlead.core.type_words import describe_type
from fairlead.errors import Code, error

ArgumentKind = Literal["text", "words", "integer", "yes_no", "list", "json", "message", "path"]
"""How an argument is typed: `words` are the rest of a line without quotation marks, a list has commas, a message is a
job's or a message's id, or a link to it where the channel has links. A path may begin at the current directory where a
channel has one."""

ChoiceSource = Literal[
    "project",
    "project_number",
    "tool",
    "any_tool",
    "session",
    "job",
    "live",
    "retryable",
    "rule",
    "hook",
    "schedule",
    "machine",
    "model",
    "mode",
    "agent_command",
    "stored_session",
    "worktree",
    "discarded_worktree",
]
"""Choices that are looked up while somebody types."""

Way = Literal["menu", "line"]
EVERY_WAY: Final[tuple[Way, ...]] = ("menu", "line")

PAGE_FIELDS: Final = ("limit", "after")
_OWN_ID: Final = "asked_by"
_GAP_LENGTH: Final = {"path": 200}
_USUAL_GAP_LENGTH: Final = 60
_YES_NO: Final = {"yes": True, "true": True, "no": False, "false": False}


class Choice(msgspec.Struct, frozen=True, omit_defaults=True):
    """`label` is what people read where that says more than the value."""

    value: str
    label: str = ""


LookUp = Callable[[ChoiceSource, str], list[Choice]]
"""The choices of a source that fit what is typed."""


class Argument(msgspec.Struct, frozen=True, kw_only=True):
    """One argument of a command. `field` is its name in the request, in the API and, unless a menu was published with
    another `option`, in menus. `gap` names the gap that it fills in the sentence of a refusal."""

    field: str
    kind: ArgumentKind = "text"
    required: bool = True
    choices: ChoiceSource | tuple[str, ...] = ()
    option: str = ""
    placeholder: str = ""
    gap: str = ""
    example: str = ""
    ways: tuple[Way, ...] = EVERY_WAY

    @property
    def option_name(self) -> str:
        return self.option or self.field

    @property
    def usage(self) -> str:
        """How a usage line names it: `PROJECT`, or `[PROJECT]` where it may be left out."""
        name = self.placeholder or self.field.removesuffix("_id").upper()
        return name if self.required else f"[{name}]"


class ApiRoute(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments that the path does not name go into the query of a GET and into the body of a POST, beside `userId`.

    `operation` and `schema` are names in the API's document that were published before they could be derived. With
    `at_job` the command is asked as if from the conversation of the job that the path names. `summary` is for a route
    that does something narrower than the command's words say. `pages`: the reply is a list that grows, and is given in
    pages, by the fields `limit` and `after` of the request."""

    method: Literal["GET", "POST"]
    path: str
    user: Literal["required", "optional", "absent"] = "required"
    operation: str = ""
    schema: str = ""
    summary: str = ""
    at_job: bool = False
    pages: bool = False

    @property
    def operation_id(self) -> str:
        parts = (part for part in self.path.removeprefix("/v1").split("/") if part and not part.startswith("{"))
        return self.operation or "_".join((self.method.lower(), *parts))

    @property
    def path_fields(self) -> tuple[str, ...]:
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


class CommandSpec(msgspec.Struct, frozen=True, kw_only=True):
    """`fixed` are fields of the request that the words themselves decide. `works_on_full_disk`: also while the disk is
    full, because it writes nothing that must be kept, or ends the work that fills the disk."""

    words: str
    request: type[Request]
    reply: type[Reply]
    arguments: tuple[Argument, ...] = ()
    fixed: Mapping[str, Any] = {}
    who: Literal["allowed people", "the owner"] = "allowed people"
    works_on_full_disk: bool = False
    routes: tuple[ApiRoute, ...] = ()
    ways: tuple[Way, ...] = EVERY_WAY

    def __post_init__(self) -> None:
        """A specification that contradicts its structs fails at import, before a person can meet it."""
        fields = {f.name: f.required for f in msgspec.structs.fields(self.request)}
        named = {*(a.field for a in self.arguments), *self.fixed}
        assert named <= set(fields), f"/{self.words}: {self.request.__name__} has no {named - set(fields)}"
        for argument in self.arguments:
            optional = argument.required or not fields[argument.field]
            assert optional, f"/{self.words}: {argument.field} may be left out, but has no default"
        for route in self.routes:
            assert set(route.path_fields) <= named, f"/{self.words}: {route.path} names what is no argument"
            in_query = {a.kind for a in self.sent_arguments} if route.method == "GET" else set[str]()
            assert not in_query & {"list", "json"}, f"/{self.words}: a query takes no lists and no JSON"

    @property
    def key(self) -> str:
        """Under which its words stand in the catalogues of words: `command.project.list`."""
        return self.words.replace(" ", ".")

    @property
    def group(self) -> str:
        """The first of two words; empty for a command of one word."""
        return self.words.rpartition(" ")[0]

    @property
    def has_own_id(self) -> bool:
        """Whether the request carries an id of its own, the same however often it is tried: the channel brings it."""
        return _OWN_ID in self.request.__struct_fields__

    @property
    def sent_arguments(self) -> tuple[Argument, ...]:
        """Those that go into a query or a body, because no path names them."""
        in_paths = {field for route in self.routes for field in route.path_fields}
        return tuple(argument for argument in self.arguments if argument.field not in in_paths)

    def arguments_for(self, way: Way) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if way in argument.ways)

    def asks(self, request: Request) -> bool:
        """Whether these words ask for exactly such a request."""
        if type(request) is not self.request:
            return False
        return all(getattr(request, name) == value for name, value in self.fixed.items())


class CommandCatalogue(msgspec.Struct, frozen=True):
    """The commands of one Fairlead, in the order in which people are shown them."""

    specs: tuple[CommandSpec, ...]

    def __post_init__(self) -> None:
        words = [spec.words for spec in self.specs]
        assert len(set(words)) == len(words), "two commands have the same words"
        rules = {(spec.request, spec.who, spec.works_on_full_disk) for spec in self.specs}
        assert len(rules) == len({spec.request for spec in self.specs}), "one request is held to two rules"

    def with_command(self, spec: CommandSpec) -> "CommandCatalogue":
        return CommandCatalogue((*self.specs, spec))

    def specs_for(self, way: Way) -> tuple[CommandSpec, ...]:
        return tuple(spec for spec in self.specs if way in spec.ways)

    def find(self, words: str) -> CommandSpec | None:
        return next((spec for spec in self.specs if spec.words == words), None)

    def spec_of(self, request: Request) -> CommandSpec | None:
        """The command that asks for this; of several, the one that the API serves."""
        asking = [spec for spec in self.specs if spec.asks(request)]
        return next((spec for spec in asking if spec.routes), asking[0] if asking else None)


@cache
def field_types(request: type[Request]) -> dict[str, Any]:
    """The types of a request's fields, with the limits that stand beside them."""
    return get_type_hints(request, include_extras=True)


def request_from(spec: CommandSpec, typed: Mapping[str, str | int], *, asked_by: str = "") -> Request:
    """The request that somebody typed, by field. `asked_by` is the id of what the person did, for a request that has
    one. Raises E_INVALID_ARGS."""
    given = {a: typed[a.field] for a in spec.arguments if a.field in typed}
    values = {a.field: _value_of(spec, a, text) for a, text in given.items() if a.required or str(text).strip()}
    return spec.request(**spec.fixed, **own_id(spec, asked_by), **values)


def own_id(spec: CommandSpec, asked_by: str) -> dict[str, str]:
    """The field of the request's own id, if the request has one."""
    return {_OWN_ID: asked_by} if spec.has_own_id else {}


def _value_of(spec: CommandSpec, argument: Argument, typed: str | int) -> object:
    wanted = field_types(spec.request)[argument.field]
    try:
        return msgspec.convert(_plain_value(argument, typed, as_text=wanted is str), wanted)
    except (ValueError, msgspec.DecodeError):
        raise error(
            Code.E_INVALID_ARGS,
            f"{argument.option_name} must be {describe_type(wanted)}.",
            next_step=f"Give it as in {argument.example}" if argument.example else "",
        ) from None


def _plain_value(argument: Argument, typed: str | int, *, as_text: bool) -> object:
    match argument.kind:
        case "yes_no":
            return _YES_NO.get(str(typed).lower(), typed)
        case "integer":
            # A number that stands for a name, such as a project's: where people type freely, the name does as well.
            return str(typed) if as_text else int(typed)
        case "list":
            return [part.strip() for part in str(typed).split(",") if part.strip()]
        case "json":
            return msgspec.json.decode(str(typed))
        case "text" | "words" | "message" | "path":
            return typed


def sentence_gaps(spec: CommandSpec, typed: Mapping[str, str | int]) -> dict[str, str]:
    """What was typed, by the gaps that it fills in the sentence of a refusal. A project's number is its `id`."""
    filled: dict[str, str] = {}
    for argument in spec.arguments:
        text = str(typed.get(argument.field, ""))
        if argument.gap and text:
            gap = "id" if argument.gap == "project" and text.isdecimal() else argument.gap
            filled[gap] = text[: _GAP_LENGTH.get(argument.gap, _USUAL_GAP_LENGTH)]
    return filled


def choices_for(argument: Argument, typed: str, look_up: LookUp) -> list[Choice]:
    """The choices that fit the text typed so far; of a list, the part behind the last comma."""
    if argument.kind != "list":
        return _matching_choices(argument, typed, look_up)
    before, comma, last = typed.rpartition(",")
    named = {each.strip() for each in before.split(",")}
    fitting = [c.value for c in _matching_choices(argument, last, look_up) if c.value not in named]
    return [Choice(f"{before}{comma}{value}") for value in fitting]


def _matching_choices(argument: Argument, typed: str, look_up: LookUp) -> list[Choice]:
    if isinstance(argument.choices, str):
        return look_up(argument.choices, typed)
    wanted = typed.strip().lower()
    return [Choice(value) for value in argument.choices if wanted in value.lower()]
