"""Orders that ask for permission, with the options that the real agents offer and some that nobody should."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from .tool_styles import STYLES, content_of
from .tools import describe_tool, end, refuse, shown_in_a_question, start_asked, tool
from .wire import Payload

if TYPE_CHECKING:
    from .turn import Turn

_ONCE, _ALWAYS, _REJECT = "allow_once", "allow_always", "reject_once"
OPTION_SETS: dict[str, tuple[tuple[str, str, str], ...]] = {  # id, name, kind
    "default": (("once", "Allow once", _ONCE), ("always", "Always allow", _ALWAYS), ("reject", "Reject", _REJECT)),
    "claude": (("allow-once", "Yes", _ONCE), ("reject", "No", _REJECT)),
    "claude-edit": (
        ("allow-once", "Yes", _ONCE),
        ("allow-with-updates", "Yes, allow all edits during this session", _ALWAYS),
        ("reject", "No", _REJECT),
    ),
    "codex": (
        ("allow_once", "Yes, proceed", _ONCE),
        ("allow_for_session", "Yes, and don't ask again for these files", _ALWAYS),
        ("cancel", "No, and tell Codex what to do differently", _REJECT),
    ),
    "gemini": (
        ("proceed_always", "Allow for this session", _ALWAYS),
        ("proceed_once", "Allow", _ONCE),
        ("cancel", "Reject", _REJECT),
    ),
    "qwen": (
        ("proceed_always_project", "Always Allow in project", _ALWAYS),
        ("proceed_always_user", "Always Allow for user", _ALWAYS),
        ("proceed_once", "Allow", _ONCE),
        ("cancel", "Reject", _REJECT),
    ),
    "qwen-auto": (
        ("proceed_once", "Allow", _ONCE),
        ("proceed_once_and_switch_to_default", "Allow, and ask from now on", _ONCE),
        ("cancel", "Reject", _REJECT),
    ),
    "copilot": (
        ("allow_once", "Allow once", _ONCE),
        ("allow_always", "Always allow", _ALWAYS),
        ("reject_once", "Deny", _REJECT),
    ),
    "two-once": (
        ("allow-all-edits", "Yes, and allow all edits", _ONCE),
        ("allow-this", "Yes, this once", _ONCE),
        ("reject", "No", _REJECT),
    ),
    "four": (
        ("once", "Allow once", _ONCE),
        ("always", "Always allow", _ALWAYS),
        ("reject", "Reject", _REJECT),
        ("never", "Never allow", "reject_always"),
    ),
    "always": (("always", "Always allow", _ALWAYS), ("never", "Never allow", "reject_always")),
    "allow": (("once", "Allow once", _ONCE),),
    "reject": (("reject", "Reject", _REJECT),),
    "none": (),
}

OPTION_SETS |= {  # by what is odd about them
    "once": OPTION_SETS["claude"],
    "always-first": OPTION_SETS["gemini"],
    "two-always": OPTION_SETS["qwen"],
}


def ask(turn: "Turn", rest: str) -> None:
    """`ask: [two-once] execute rm -rf build`: a tool call, the permission for it, and the end of the tool."""
    options, call = _what_is_asked(turn, rest)
    if _title(call) in turn.session.always:
        tool(turn, _title(call))
        return
    start_asked(turn, call)
    chosen = request_permission(turn, call, options)
    if kind_of(options, chosen) == _ALWAYS:
        turn.session.always.append(_title(call))
    if is_allowed(options, chosen):
        end(turn, call)
    else:
        refuse(turn, call)
        _go_on_after_a_refusal(turn)
    turn.say(f"Chose {chosen}")


def _go_on_after_a_refusal(turn: "Turn") -> None:
    match turn.switches.rejected:
        case "cancelled":
            turn.give_up()
        case "ends":
            turn.end_at_once()
        case "info":
            turn.say("Info: Operation cancelled by user")
            turn.end_at_once()
        case _:
            pass


def ask_silent(turn: "Turn", rest: str) -> None:
    """No tool_call before the permission and nothing after a refusal, as Gemini does it."""
    options, call = _what_is_asked(turn, rest)
    chosen = request_permission(turn, call, options)
    if is_allowed(options, chosen):
        STYLES["gemini"].end(turn, call, "completed", f"ran {call['title']}")
    turn.say(f"Chose {chosen}")


def ask_twice(turn: "Turn", rest: str) -> None:
    """The same permission for the same tool call a second time, after the first was answered."""
    options, call = _what_is_asked(turn, rest)
    start_asked(turn, call)
    first = request_permission(turn, call, options)
    second = request_permission(turn, call, options)
    end(turn, call, "completed" if is_allowed(options, second) else "failed")
    turn.say(f"Chose {first}, then {second}")


def ask_both(turn: "Turn", rest: str) -> None:
    """Two permissions are open at once: `ask-both: rm a | rm b`."""
    pairs = [_what_is_asked(turn, part.strip()) for part in rest.split("|")]
    chosen: dict[str, str] = {}
    for options, call in pairs:
        start_asked(turn, call)
        _request_beside_others(turn, call, options)
    while len(chosen) < len(pairs):
        kind, value = turn.wait()
        if kind == "chosen":
            chosen[value[0]] = outcome_of(value[1])
    for options, call in pairs:
        end(turn, call, "completed" if is_allowed(options, chosen[call["toolCallId"]]) else "failed")
    turn.say("Chose " + " and ".join(chosen[call["toolCallId"]] for _, call in pairs))


def _request_beside_others(turn: "Turn", call: Payload, options: str) -> None:
    params = permission_of(turn, call, options)
    call_id = call["toolCallId"]
    turn.wire.request("session/request_permission", params, lambda response: turn.put("chosen", (call_id, response)))


def ask_after_cancel(turn: "Turn", rest: str) -> None:
    """Waits for the cancel, asks for a permission all the same, and is cancelled when that is answered."""
    turn.wait_for_cancel()
    options, call = _what_is_asked(turn, rest)
    start_asked(turn, call)
    turn.say(f"After the cancel: {request_permission(turn, call, options)}")
    turn.give_up()


def ask_question(turn: "Turn", rest: str) -> None:
    """`ask-question: Which colour? | red | blue`: a question in the shape of a permission, as Qwen asks it.

    Qwen reads the answers beside the outcome: `{"outcome": …, "answers": {"0": "red"}}`.
    """
    question, *choices = (part.strip() for part in rest.split("|"))
    options = [{"label": choice, "description": f"The choice {choice}"} for choice in choices]
    questions = [{"question": question, "header": "Choice", "options": options, "multiSelect": False}]
    meta = {"toolName": "ask_user_question", "qwenInteractionKind": "user_question", "qwenQuestions": questions}
    call = describe_tool(turn, f"think {question}") | {"rawInput": {"questions": questions}, "_meta": meta}
    params = {
        "sessionId": turn.session.session_id,
        "toolCall": call | {"status": "pending", "content": content_of(question)},
        "options": [
            {"optionId": "proceed_once", "name": "Submit", "kind": _ONCE},
            {"optionId": "cancel", "name": "Cancel", "kind": _REJECT},
        ],
    }
    response = turn.ask("session/request_permission", params)
    more = {key: value for key, value in response.get("result", {}).items() if key != "outcome"}
    turn.say(f"Chose {outcome_of(response)} {json.dumps(more, sort_keys=True)}")


def _what_is_asked(turn: "Turn", rest: str) -> tuple[str, Payload]:
    name, rest = str(turn.switches.options), rest.strip()
    if rest.startswith("["):
        name, _, rest = rest[1:].partition("]")
    assert name in OPTION_SETS, f"no set of options is called {name}"
    return name, describe_tool(turn, rest.strip())


def permission_of(turn: "Turn", call: Payload, options: str) -> Payload:
    offered = [{"optionId": option, "name": name, "kind": kind} for option, name, kind in OPTION_SETS[options]]
    shown = shown_in_a_question(turn, call)
    return {"sessionId": turn.session.session_id, "toolCall": shown, "options": offered}


def request_permission(turn: "Turn", call: Payload, options: str) -> str:
    return outcome_of(turn.ask("session/request_permission", permission_of(turn, call, options)))


def outcome_of(response: Payload) -> str:
    """The id of the chosen option, or `(cancelled)`, or the error in brackets."""
    if "error" in response:
        return f"(error {response['error']['code']})"
    outcome = response["result"]["outcome"]
    return outcome["optionId"] if outcome["outcome"] == "selected" else f"({outcome['outcome']})"


def kind_of(options: str, chosen: str) -> str:
    return next((kind for option, _, kind in OPTION_SETS[options] if option == chosen), "")


def is_allowed(options: str, chosen: str) -> bool:
    return kind_of(options, chosen).startswith("allow")


def _title(call: Payload) -> str:
    return f"{call['kind']} {call['title']}"


WITH_REST: dict[str, Callable[["Turn", str], None]] = {
    "ask": ask,
    "ask-silent": ask_silent,
    "ask-twice": ask_twice,
    "ask-both": ask_both,
    "ask-after-cancel": ask_after_cancel,
    "ask-question": ask_question,
}
ALONE: dict[str, Callable[["Turn"], None]] = {}
