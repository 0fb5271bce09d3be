"""Permission requests of an ACP agent as a person gets to see them, and a person's response in ACP's form. Pure."""

import shlex
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import msgspec

from fairlead.core.engine import (
    Ask,
    AskedItem,
    Option,
    PermissionRequested,
    PlanProposed,
    QuestionRequested,
    Response,
    Suggestion,
)
from fairlead.core.rules import EDITING_TOOLS
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.quirks import PLAIN, Quirks
from fairlead.runtimes.acp.translate import as_dict, diff_of, tool_input, tool_name
from fairlead.runtimes.ask_details import cut_if_long, shell_command, shell_directory

CANCELLED: Final[dict[str, Any]] = {"outcome": {"outcome": "cancelled"}}
_ARGUMENT: Final = {
    "Bash": ("command", "cmd"),
    "Read": ("file_path", "path", "filePath", "absolute_path"),
    "Edit": ("file_path", "path", "filePath", "filepath", "fileName", "absolute_path"),
    "Write": ("file_path", "path", "filePath", "filepath", "fileName", "absolute_path"),
    "MultiEdit": ("file_path", "path", "filePath"),
    "NotebookEdit": ("notebook_path", "file_path", "path"),
    "WebFetch": ("url",),
}
"""The one argument that a call of these tools is about; every other tool is shown with all of its input."""

_TELLING: Final = ("dangerouslyDisableSandbox",)
"""Arguments beside that one without which a person would not know what they allow."""

Respond = Callable[[Response], dict[str, Any]]
"""Makes the result of the agent's request from a person's response."""


class AgentRequest(msgspec.Struct, frozen=True):
    """A request of the agent: how a person is asked, and how the agent is told. `tool` is the one that the agent wants
    to use, by which a project's tier decides; empty for a plan or a form. `call_id` tells two calls of the same command
    apart."""

    ask: Ask
    respond: Respond
    tool: str = ""
    call_id: str = ""
    is_plan: bool = False


# --- permissions ---------------------------------------------------------------------------------------------------


def permission_request(request_id: str, params: wire.PermissionParams, quirks: Quirks = PLAIN) -> AgentRequest:
    questions = _questions_in(params.tool_call, quirks)
    if questions:
        return _questions(request_id, params, questions)
    return _permission_or_plan(request_id, params, quirks.narrow_allow)


def _permission_or_plan(request_id: str, params: wire.PermissionParams, narrow_option: str) -> AgentRequest:
    """`narrow_option` names the narrowest of several options that allow once, where the agent is known to have such."""
    options = params.options
    allow = _only(options, "allow_once", narrow_option)
    call = params.tool_call
    is_plan = call.kind == "switch_mode" and bool(_text_of(call))
    tool = "" if is_plan else tool_name(call.kind, call.meta)
    if allow is None:
        return _choice_between_options(request_id, params, tool, is_plan=is_plan)
    ask = PlanProposed(request_id, _text_of(call)) if is_plan else _permission(request_id, params)
    return AgentRequest(
        ask=ask,
        respond=lambda response: _outcome(options, allow, response),
        tool=tool,
        call_id=call.tool_call_id,
        is_plan=is_plan,
    )


def _permission(request_id: str, params: wire.PermissionParams) -> PermissionRequested:
    call = params.tool_call
    tool = tool_name(call.kind, call.meta)
    given = as_dict(call.raw_input) if tool == "Bash" else {}
    return PermissionRequested(
        request_id=request_id,
        tool=tool,
        title=_title(call, tool),
        detail=detail_of(call, tool),
        diff=diff_of(call.content) or _diff_in(call),
        input=tool_input(call),
        command=shell_command(given),
        directory=shell_directory(given),
        paths=_edited_paths(call, tool),
        suggestions=tuple(_suggestion(option) for option in params.options if option.kind == "allow_always"),
    )


def _title(call: wire.RequestedCall, tool: str) -> str:
    """The agent's own words about the call; of a command only that it is one, because the detail shows it whole."""
    words = _text_of(call)
    if words and len(words) <= 200 and "\n" not in words.strip():
        return words.strip()
    return f"Use {tool}?"


def detail_of(call: wire.RequestedCall, tool: str) -> str:
    """The whole command, or the path, or all of the input: a person decides about it, and a standing rule names it."""
    given = as_dict(call.raw_input)
    telling = "".join(f"\n({name}: {_json(given[name])})" for name in _TELLING if given.get(name))
    for name in _ARGUMENT.get(tool, ()):
        match given.get(name):
            case str() as about if about:
                return cut_if_long(about + telling)
            case [*words] if words:
                return cut_if_long(shlex.join(str(word) for word in words) + telling)
            case _:
                continue
    if given:
        return cut_if_long(_json(given))
    paths = [place.path for place in call.locations or () if place.path]
    if paths and tool != "Bash":
        return cut_if_long("\n".join(paths))
    return cut_if_long(call.title or call.tool_call_id)


def _edited_paths(call: wire.RequestedCall, tool: str) -> tuple[str, ...]:
    """Every path that the agent names in its arguments, its diff and its places: a rule wants them all to be one."""
    if tool not in EDITING_TOOLS:
        return ()
    given = as_dict(call.raw_input)
    named = [given[key] for key in _ARGUMENT[tool] if isinstance(given.get(key), str)]
    shown = [part.path for part in call.content or () if part.type == "diff"]
    places = [place.path for place in call.locations or ()]
    return tuple(dict.fromkeys(path for path in (*named, *shown, *places) if path))


def _diff_in(call: wire.RequestedCall) -> str:
    """Copilot gives the diff among the tool's arguments instead of showing it."""
    match as_dict(call.raw_input).get("diff"):
        case str() as diff:
            return cut_if_long(diff.strip("\n"))
        case _:
            return ""


def _text_of(call: wire.RequestedCall) -> str:
    parts = [part.content.text for part in call.content or () if part.content is not None and part.content.text]
    return "\n".join(parts)


def _suggestion(option: wire.PermissionChoice) -> Suggestion:
    return Suggestion(option.name or option.option_id, {"optionId": option.option_id})


def _only(options: tuple[wire.PermissionChoice, ...], kind: str, narrow: str) -> wire.PermissionChoice | None:
    """The one option of this kind, or the one that is known to be narrow; None where a person must say which."""
    fitting = [option for option in options if option.kind == kind]
    known = [option for option in fitting if narrow and option.option_id == narrow]
    if known:
        return known[0]
    return fitting[0] if len(fitting) == 1 else None


def _outcome(
    options: tuple[wire.PermissionChoice, ...], allow: wire.PermissionChoice | None, response: Response
) -> dict[str, Any]:
    if response.verdict == "allow":
        return CANCELLED if allow is None else _select(allow)
    refusals = [option for kind in ("reject_once", "reject_always") for option in options if option.kind == kind]
    return _select(refusals[0]) if refusals else CANCELLED


def _select(option: wire.PermissionChoice) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option.option_id}}


def _choice_between_options(
    request_id: str, params: wire.PermissionParams, tool: str, *, is_plan: bool
) -> AgentRequest:
    """The agent offers several ways to allow, or only standing ones: a person names the option, Fairlead guesses
    none."""
    call = params.tool_call
    text = f"{tool}: {detail_of(call, tool)}" if tool else _text_of(call)
    by_label = _by_label(params.options)
    item = AskedItem(text, tuple(Option(label) for label in by_label))

    def respond(response: Response) -> dict[str, Any]:
        chosen = by_label.get(response.chosen.get(text, response.message)) if response.verdict == "allow" else None
        return (
            _outcome(params.options, None, Response(request_id=request_id, verdict="deny"))
            if chosen is None
            else (_select(chosen))
        )

    question = QuestionRequested(request_id, (item,))
    return AgentRequest(ask=question, respond=respond, tool=tool, call_id=call.tool_call_id, is_plan=is_plan)


# --- questions in the shape of a permission --------------------------------------------------------------------------


def _questions_in(call: wire.RequestedCall, quirks: Quirks) -> tuple[wire.AskedQuestion, ...]:
    """See `Quirks.question_meta`. Questions of an unknown shape are shown as the permission that they came as."""
    try:
        asked = as_dict(call.meta).get(quirks.question_meta) if quirks.question_meta else None
        return msgspec.convert(asked or (), tuple[wire.AskedQuestion, ...], strict=False)
    except msgspec.ValidationError:
        return ()


def _questions(
    request_id: str, params: wire.PermissionParams, questions: tuple[wire.AskedQuestion, ...]
) -> AgentRequest:
    """A person who answers nothing has refused: the agent would take the permission for an answer."""

    def respond(response: Response) -> dict[str, Any]:
        said = response.chosen or {questions[0].question: response.message}
        answers = {str(n): words for n, one in enumerate(questions) if (words := said.get(one.question, "").strip())}
        if response.verdict != "allow" or not answers:
            return _outcome(params.options, None, Response(request_id=request_id, verdict="deny"))
        return {**_outcome(params.options, _only(params.options, "allow_once", ""), response), "answers": answers}

    return AgentRequest(QuestionRequested(request_id, tuple(_item(one) for one in questions)), respond)


def _item(asked: wire.AskedQuestion) -> AskedItem:
    options = tuple(Option(one.label, one.description or "") for one in asked.options or () if one.label)
    return AskedItem(asked.question, options, asked.header or "", several=bool(asked.multi_select))


def _by_label(options: tuple[wire.PermissionChoice, ...]) -> dict[str, wire.PermissionChoice]:
    """Options of the same name are told apart by their ids, because a person must know which one they name."""
    names = Counter(option.name for option in options)
    labelled = [(option, option.name or option.option_id) for option in options if option.option_id]
    return {label if names[option.name] == 1 else f"{label} ({option.option_id})": option for option, label in labelled}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
