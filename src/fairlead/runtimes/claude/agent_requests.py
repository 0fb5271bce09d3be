"""Claude's requests as a person gets to see them, and a person's responses in Claude's form. Pure."""

from typing import Any, Final, cast

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
from fairlead.runtimes.ask_details import cut_if_long, shell_command, shell_directory
from fairlead.runtimes.claude import wire

_PATH_KEYS: Final = ("file_path", "notebook_path", "path")
# The one argument that a call of these tools is about. Their other arguments are shown as a diff, change nothing that a
# person decides about, or are in _TELLING. Every other tool is shown with all of its input.
_ABOUT: Final = {
    "Bash": "command",
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "WebFetch": "url",
}
_TELLING: Final = ("dangerouslyDisableSandbox",)
_NO: Final = "The person said no."


def ask_of(request_id: str, request: wire.ToolRequest, tool_input: dict[str, Any]) -> Ask:
    """`tool_input` is the call's own, also where the request leaves it out (as it does for plans)."""
    match request.tool_name:
        case "AskUserQuestion" if questions := _questions(tool_input):
            return QuestionRequested(request_id, questions)
        case "ExitPlanMode":
            return PlanProposed(request_id, _text(tool_input.get("plan")) or "(The agent sent no text for its plan.)")
        case _:
            return _permission(request_id, request, tool_input)


def _permission(request_id: str, request: wire.ToolRequest, tool_input: dict[str, Any]) -> PermissionRequested:
    return PermissionRequested(
        request_id=request_id,
        tool=request.tool_name,
        title=request.description or f"Use {request.tool_name}?",
        detail=detail_of(request.tool_name, tool_input),
        diff=diff_of(request.tool_name, tool_input),
        input=tool_input,
        command=shell_command(tool_input) if request.tool_name == "Bash" else "",
        directory=shell_directory(tool_input) if request.tool_name == "Bash" else "",
        paths=_edited_paths(request.tool_name, tool_input),
        suggestions=_suggestions(request.permission_suggestions),
    )


def _edited_paths(tool: str, tool_input: dict[str, Any]) -> tuple[str, ...]:
    path = _text(tool_input.get(_ABOUT.get(tool, ""))) if tool in EDITING_TOOLS else ""
    return (path,) if path else ()


def detail_of(tool: str, tool_input: dict[str, Any]) -> str:
    """The whole command, or the path, or all of the input: a person decides about it, and a standing rule names it."""
    about = _text(tool_input.get(_ABOUT.get(tool, "")))
    if not about:
        return cut_if_long(_json(tool_input)) if tool_input else ""
    telling = [f"\n({key}: {_json(tool_input[key])})" for key in _TELLING if tool_input.get(key)]
    return cut_if_long(about + "".join(telling))


def diff_of(tool: str, tool_input: dict[str, Any]) -> str:
    path = next((value for key in _PATH_KEYS if isinstance(value := tool_input.get(key), str)), "")
    match tool:
        case "Edit":
            pairs = [tool_input]
        case "MultiEdit":
            edits = tool_input.get("edits")
            pairs = [_dict(edit) for edit in cast("list[Any]", edits)] if isinstance(edits, list) else []
        case "Write" | "NotebookEdit":
            new = tool_input.get("content") if tool == "Write" else tool_input.get("new_source")
            pairs = [{"old_string": "", "new_string": new}]
        case _:
            return ""
    return cut_if_long("\n".join(_one_diff(path, pair) for pair in pairs))


def _one_diff(path: str, pair: dict[str, Any]) -> str:
    old, new = _text(pair.get("old_string")).splitlines(), _text(pair.get("new_string")).splitlines()
    from difflib import unified_diff  # noqa: PLC0415 - only a question about a change of a file needs it

    return "\n".join(unified_diff(old, new, path, path, lineterm=""))


def _questions(tool_input: dict[str, Any]) -> tuple[AskedItem, ...]:
    asked = tool_input.get("questions")
    if not isinstance(asked, list):
        return ()
    return tuple(_question(_dict(one)) for one in cast("list[Any]", asked) if _text(_dict(one).get("question")))


def _question(said: dict[str, Any]) -> AskedItem:
    options = said.get("options")
    listed = [_dict(option) for option in cast("list[Any]", options)] if isinstance(options, list) else []
    return AskedItem(
        _text(said.get("question")),
        tuple(Option(_text(o.get("label")), _text(o.get("description"))) for o in listed if o.get("label")),
        _text(said.get("header")),
        said.get("multiSelect") is True,
    )


def _suggestions(said: Any) -> tuple[Suggestion, ...]:
    if not isinstance(said, list):
        return ()
    raw = [_dict(one) for one in cast("list[Any]", said)]
    return tuple(Suggestion(_suggestion_words(one), one) for one in raw if one)


def _suggestion_words(one: dict[str, Any]) -> str:
    match one.get("type"):
        case "addRules":
            rules = [_dict(rule) for rule in _list(one.get("rules"))]
            return "Always allow " + ", ".join(_rule_words(rule) for rule in rules)
        case "addDirectories":
            return "Allow the directory " + ", ".join(str(path) for path in _list(one.get("directories")))
        case "setMode":
            return f"Switch to the mode {one.get('mode')}"
        case other:
            return str(other)


def _rule_words(rule: dict[str, Any]) -> str:
    tool, content = _text(rule.get("toolName")), _text(rule.get("ruleContent"))
    return f"{tool}({content})" if content else tool


def response_to(ask: Ask, tool_input: dict[str, Any], response: Response) -> dict[str, Any]:
    """A standing permission is Fairlead's own narrow rule: Claude's would be written into the project's settings."""
    if response.verdict == "deny":
        return {"behavior": "deny", "message": response.message or _NO}
    if isinstance(ask, QuestionRequested):
        answers = dict(response.chosen)
        if response.message:
            answers.setdefault(ask.items[0].text, response.message)
        return {"behavior": "allow", "updatedInput": {**tool_input, "answers": answers}}
    return {"behavior": "allow", "updatedInput": tool_input}


def _dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
