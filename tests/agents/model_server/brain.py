"""Decides what the model answers, from the conversation a request shows alone. No wire, no clock, no memory.

Because the answer comes from the request alone, only a CLI that truly resumed its session can make the model
remember. The person's words may hold one order on a line of its own; the last such line counts:

    run: CMD             call the shell tool, then quote its result
    background: CMD      the same, in the background
    chain: A ;; B ;; C   one shell call after the other
    parallel: A ;; B     several shell calls in one reply
    write: PATH CONTENT  call the tool that writes files
    ask: Q | A | B       ask the person with the CLI's own question tool
    tool: NAME {JSON}    call any tool
    subagent: PROMPT     hand the prompt to a sub-agent
    say: TEXT            answer exactly this
    think: TEXT          think this, then answer
    long: N              answer with N bytes
    slow: N              N deltas, one a tick, until released
    hold                 one delta, then wait for release()
    hang                 one delta, then silence for ever
    drop                 cut the connection in the middle of the answer
    status: CODE [times=N] [after=S]   refuse with this HTTP status (N times, then answer)
    usage: IN OUT [CACHED]             answer with this usage
    image?               count the images of the message, with type, size and hash
    my THING is VALUE    remembered; `what is my THING?` asks for it
"""

import json
import re
from typing import Any

from .conversation import (
    Conversation,
    Image,
    Part,
    ToolResult,
    Words,
    is_spoken,
    last_prompt,
    results_since_the_prompt,
    since_the_last_reply,
    spoken,
)
from .replies import (
    Ask,
    Delegate,
    Drop,
    Hang,
    Hold,
    Refuse,
    Reply,
    Run,
    Say,
    Step,
    Think,
    Tick,
    Usage,
    Use,
    Write,
    saying,
)

QUOTED = 4000  # characters of a tool's result that the closing text repeats
DELTA = 64 * 1024

_WITH_REST = "run|background|chain|parallel|write|ask|tool|subagent|say|think|long|slow|status|usage"
_ORDER = re.compile(rf"^[ \t]*(?:({_WITH_REST}):[ \t]*(.*)|(hold|hang|drop|image\?))[ \t]*$", re.MULTILINE)
_QUESTION = re.compile(r"what(?: is|'s) my ([\w-]+)\s*\?", re.IGNORECASE)
_FACT = re.compile(r"\bmy ([\w-]+) is ([\w-]+)", re.IGNORECASE)


def answer(conversation: Conversation, *, refused_before: int = 0) -> Reply | Refuse:
    """`refused_before`: how often this very conversation was already refused with an HTTP status."""
    if conversation.json_schema is not None:
        return saying(json.dumps(example_of(conversation.json_schema)))
    fresh = since_the_last_reply(conversation)
    if tells_of_a_background_task(fresh):
        return saying("Noted: the background task has ended.")
    prompt = last_prompt(conversation)
    word, rest = order_in(prompt)
    if waits_for_the_model_after_tools(fresh):
        return _after_tools(word, rest, results_since_the_prompt(conversation))
    match word:
        case "":
            return saying(_small_talk(conversation, prompt))
        case "status":
            return _refuse_or_recover(rest, refused_before)
        case "usage":
            return _with_usage(rest)
        case "image?":
            return saying(_images(fresh))
        case _:
            return Reply(_first_steps(word, rest))


def order_in(prompt: str) -> tuple[str, str]:
    found = list(_ORDER.finditer(prompt))
    if not found:
        return "", ""
    word, rest, alone = found[-1].groups()
    return (alone, "") if alone else (word, rest)


def tells_of_a_background_task(fresh: tuple[Part, ...]) -> bool:
    """The CLI itself began this turn: nobody spoke and no tool was awaited, a command or sub-agent ended."""
    if any(isinstance(part, ToolResult) or is_spoken(part) for part in fresh):
        return False
    return any(isinstance(part, Words) and "<task-notification>" in part.text for part in fresh)


def waits_for_the_model_after_tools(fresh: tuple[Part, ...]) -> bool:
    """A tool answered and the person has said nothing since."""
    results = [place for place, part in enumerate(fresh) if isinstance(part, ToolResult)]
    return bool(results) and not any(is_spoken(part) for part in fresh[results[-1] :])


def _first_steps(word: str, rest: str) -> tuple[Step, ...]:
    match word:
        case "run":
            return Say("I will run a command."), Run(rest)
        case "background":
            return (Run(rest, in_background=True),)
        case "chain":
            return (Run(_commands(rest)[0]),)
        case "parallel":
            return tuple(Run(command) for command in _commands(rest))
        case "write":
            path, _, content = rest.partition(" ")
            return (Write(path, content),)
        case "ask":
            question, *options = (piece.strip() for piece in rest.split("|"))
            return (Ask(question, tuple(options or ("yes", "no"))),)
        case "tool":
            name, _, arguments = rest.partition(" ")
            return (Use(name, json.loads(arguments or "{}")),)
        case "subagent":
            return (Delegate(rest),)
        case _:
            return _spoken_steps(word, rest)


def _spoken_steps(word: str, rest: str) -> tuple[Step, ...]:
    match word:
        case "say":
            return (Say(rest),)
        case "think":
            return Think(rest), Say("I have thought about it.")
        case "long":
            text = "x" * int(rest)
            return tuple(Say(text[start : start + DELTA]) for start in range(0, len(text), DELTA))
        case "slow":
            return tuple(step for n in range(int(rest)) for step in (Say(f"w{n} "), Tick()))
        case "hold":
            return Say("Waiting. "), Hold(), Say("Released.")
        case "hang":
            return Say("I will now be silent. "), Hang()
        case "drop":
            return Say("This sentence will never "), Drop()
        case _:
            raise AssertionError(f"the order {word!r} is listed but not obeyed")


def _after_tools(word: str, rest: str, results: list[str]) -> Reply:
    if word == "chain" and len(results) < len(commands := _commands(rest)):
        return Reply((Run(commands[len(results)]),))
    return saying("The tool said: " + " | ".join(result.strip() for result in results)[:QUOTED])


def _commands(rest: str) -> list[str]:
    return [command.strip() for command in rest.split(";;")]


def _refuse_or_recover(rest: str, refused_before: int) -> Reply | Refuse:
    status, *settings = rest.split()
    given = dict(setting.split("=", 1) for setting in settings)
    if "times" in given and refused_before >= int(given["times"]):
        return saying(f"Answered after {refused_before} refusals.")
    return Refuse(int(status), int(given["after"]) if "after" in given else None)


def _with_usage(rest: str) -> Reply:
    usage = Usage(*(int(number) for number in rest.split()))
    return saying(f"usage input={usage.input} output={usage.output} cached={usage.cached}", usage=usage)


def _images(fresh: tuple[Part, ...]) -> str:
    images = [part for part in fresh if isinstance(part, Image)]
    described = [f"{image.media_type} {image.size} bytes sha256:{image.sha256[:16]}" for image in images]
    return "; ".join([f"images: {len(images)}", *described])


def _small_talk(conversation: Conversation, prompt: str) -> str:
    asked = _QUESTION.search(prompt)
    if asked is None:
        return f"You said: {prompt.strip()[:QUOTED]}"
    thing = asked.group(1).lower()
    value = facts(conversation).get(thing)
    return f"Your {thing} is {value}." if value else f"You have not told me your {thing}."


def facts(conversation: Conversation) -> dict[str, str]:
    """What the person said about themselves, anywhere in the conversation; the latest counts."""
    told = (text for message in conversation.messages if message.role == "user" for text in spoken(message))
    return {found[1].lower(): found[2] for text in told for found in _FACT.finditer(_QUESTION.sub("", text))}


def example_of(schema: dict[str, Any]) -> Any:
    """The plainest value a JSON schema allows: what a CLI's side call gets to read."""
    if "enum" in schema:
        return schema["enum"][0]
    match str(schema.get("type", "string")).lower():
        case "object":
            properties = schema.get("properties") or {}
            return {name: example_of(inner) for name, inner in properties.items()}
        case "array":
            return []
        case "boolean":
            return False
        case "integer" | "number":
            return schema.get("minimum", 1)
        case _:
            return "test"
