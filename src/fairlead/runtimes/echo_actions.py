"""What the echo agent does for each order of its script: generators of events, and of what the turn must wait for.

Pure: time passes and responses come only because `echo.py` lets them.
"""

import struct
import zlib
from collections.abc import Callable, Generator
from typing import Final, TypeAlias

import msgspec

from fairlead.core.engine import (
    AskedItem,
    Diagnostic,
    EngineEvent,
    ImageProduced,
    Invocation,
    Option,
    PermissionRequested,
    PlanProposed,
    QuestionRequested,
    Response,
    TextDelta,
    ThinkingDelta,
    TitleFound,
    TodoItem,
    TodosChanged,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.runtimes.echo_script import HELP, ScriptStep, failure_of, read_script, tool_input

CHUNK: Final = 400
"""Characters of one delta: long answers arrive in several, as an agent's do."""

MAX_PICTURES: Final = 100


class Pause(msgspec.Struct, frozen=True):
    """Wait; without `seconds`, until stopped."""

    seconds: float | None = None


class AwaitResponse(msgspec.Struct, frozen=True):
    request_id: str


class WriteFile(msgspec.Struct, frozen=True):
    """In the project's directory itself; without a text, the file is removed."""

    name: str
    text: str


class TakeTexts(msgspec.Struct, frozen=True):
    """Look at what people have said since the turn began: `EchoTurn.steered` has it then."""


Action: TypeAlias = EngineEvent | Pause | AwaitResponse | WriteFile | TakeTexts
Actions: TypeAlias = Generator[Action, Response | None, None]


class EchoTurn(msgspec.Struct):
    """What one turn has said and used so far."""

    invocation: Invocation
    has_failed_before: bool = False
    said: list[str] = []
    talk: list[str] = []
    afterwards: list[str] = []
    is_deaf: bool = False
    is_busy: bool = False
    steered: list[str] = []
    asked: int = 0
    tools: int = 0

    @property
    def text(self) -> str:
        return "\n".join(self.said)

    def say(self, text: str) -> Actions:
        self.said.append(text)
        text += "\n"
        for at in range(0, len(text), CHUNK):
            yield TextDelta(text[at : at + CHUNK])

    def new_request_id(self) -> str:
        self.asked += 1
        return f"{self.invocation.job_id}-ask-{self.asked}"

    def new_tool_id(self) -> str:
        self.tools += 1
        return f"tool-{self.tools}"


def _say(turn: EchoTurn, step: ScriptStep) -> Actions:
    yield from turn.say(step.rest)


def _help(turn: EchoTurn, _step: ScriptStep) -> Actions:
    yield from turn.say(HELP)


def _slow(_stage: EchoTurn, step: ScriptStep) -> Actions:
    yield ThinkingDelta(f"waiting {step.number(1):g} s")
    yield Pause(step.number(1))


def _work_alone(turn: EchoTurn, step: ScriptStep) -> Actions:
    """What is said meanwhile is refused, and waits for its own turn."""
    turn.is_busy = True
    yield from _slow(turn, step)
    turn.is_busy = False


def _recall(turn: EchoTurn, _step: ScriptStep) -> Actions:
    """The first line of every message of this talk, this one among them."""
    for number, text in enumerate(turn.talk, 1):
        yield from turn.say(f"{number}. {text.strip().partition(chr(10))[0]}")


def _think(_stage: EchoTurn, step: ScriptStep) -> Actions:
    yield ThinkingDelta(step.rest)


def _tool(turn: EchoTurn, step: ScriptStep) -> Actions:
    name, _, what = (step.rest or "Bash true").partition(" ")
    tool_id = turn.new_tool_id()
    yield ToolStarted(tool_id, name, tool_input(name, what))
    yield ToolEnded(tool_id, summary=f"pretended {name} {what}".rstrip())


def _write(turn: EchoTurn, step: ScriptStep) -> Actions:
    """The only order that does something: as a real agent, it asks first."""
    name, _, text = step.rest.partition(" ")
    request_id = turn.new_request_id()
    asked = tool_input("Write", name)
    yield PermissionRequested(request_id=request_id, tool="Write", title=f"Write {name}", detail=name, input=asked)
    response = yield AwaitResponse(request_id)
    if response is None or response.verdict == "deny":
        yield from turn.say(f"denied: {name}")
        return
    tool_id = turn.new_tool_id()
    yield ToolStarted(tool_id, "Write", asked)
    yield WriteFile(name, text)
    yield ToolEnded(tool_id, summary=f"wrote {name}" if text else f"removed {name}")


def _todo(_stage: EchoTurn, step: ScriptStep) -> Actions:
    yield TodosChanged(tuple(_todo_item(part.strip()) for part in step.rest.split("|") if part.strip()))


def _todo_item(words: str) -> TodoItem:
    if words.startswith("+"):
        return TodoItem(words[1:].strip(), "completed")
    return TodoItem(words[1:].strip(), "in_progress") if words.startswith(">") else TodoItem(words)


def _task(turn: EchoTurn, step: ScriptStep) -> Actions:
    """A sub-agent that uses one tool of its own."""
    _, _, what = step.rest.partition(" ")
    tool_id, inner_id = turn.new_tool_id(), turn.new_tool_id()
    yield ToolStarted(tool_id, "Task", {"description": what or "a part of it"})
    yield ToolStarted(inner_id, "Read", tool_input("Read", "README.md"), tool_id)
    yield Pause(step.number(1))
    yield ToolEnded(inner_id)
    yield ToolEnded(tool_id, summary="the sub-agent is done")


def _title(_stage: EchoTurn, step: ScriptStep) -> Actions:
    yield TitleFound(step.rest or "A talk with the echo agent")


def _ask(turn: EchoTurn, step: ScriptStep) -> Actions:
    """What a rule of this session allows is not asked again."""
    command = step.rest or "true"
    if f"Bash({command})" not in turn.invocation.allowed:
        request_id = turn.new_request_id()
        yield PermissionRequested(
            request_id=request_id,
            tool="Bash",
            title=f"Run {command}",
            detail=command,
            input=tool_input("Bash", command),
            command=command,
        )
        response = yield AwaitResponse(request_id)
        if response is None or response.verdict == "deny":
            why = f" ({response.message})" if response is not None and response.message else ""
            yield from turn.say(f"denied: {command}{why}")
            return
    yield from _tool(turn, ScriptStep("tool", f"Bash {command}"))
    yield from turn.say(f"allowed: {command}")


def _question(turn: EchoTurn, step: ScriptStep) -> Actions:
    questions = tuple(map(_question_of, (step.rest or "Shall I go on? | yes | no").split("||")))
    request_id = turn.new_request_id()
    yield QuestionRequested(request_id, questions)
    response = yield AwaitResponse(request_id)
    for each in questions:
        chosen = "" if response is None else response.chosen.get(each.text, response.message or response.verdict)
        yield from turn.say(f"the answer to {each.text} is {chosen}")


def _question_of(words: str) -> AskedItem:
    text, *options = [part.strip() for part in words.split("|")]
    return AskedItem(text, tuple(Option(o) for o in options if o))


def _plan(turn: EchoTurn, step: ScriptStep) -> Actions:
    request_id = turn.new_request_id()
    yield PlanProposed(request_id, step.rest or "1. Say hello.\n2. Go home.")
    response = yield AwaitResponse(request_id)
    is_approved = response is not None and response.verdict == "allow"
    words = "the plan was approved" if is_approved else "the plan was rejected"
    yield from turn.say(f"{words}: {response.message}" if response is not None and response.message else words)


def _image(_stage: EchoTurn, step: ScriptStep) -> Actions:
    for number in range(min(int(step.number(1)), MAX_PICTURES)):
        yield ImageProduced("image/png", _tiny_picture(number) if number else TINY_PICTURE)


def _usage(_stage: EchoTurn, step: ScriptStep) -> Actions:
    numbers = [ScriptStep("usage", word).number(0) for word in step.rest.split()[:3]]
    tokens_in, tokens_out, cost = (*numbers, 0.0, 0.0, 0.0)[:3]
    yield UsageReported(input_tokens=int(tokens_in), output_tokens=int(tokens_out), cost_usd=cost)


def _long(turn: EchoTurn, step: ScriptStep) -> Actions:
    length = int(step.number(5000))
    line = "Every word of this sentence is here to make the answer long.\n"
    yield from turn.say((line * (length // len(line) + 1))[:length])


def _big_line(turn: EchoTurn, step: ScriptStep) -> Actions:
    """In one delta: nothing on the way may split a line for its own convenience."""
    line = "x" * int(step.number(300_000))
    turn.said.append(line)
    yield TextDelta(line)


def _speak_later(turn: EchoTurn, step: ScriptStep) -> Actions:
    turn.afterwards.append(step.rest or "something came to my mind")
    yield Diagnostic("will speak unasked when this turn is over")


def _fail_once(turn: EchoTurn, _step: ScriptStep) -> Actions:
    if turn.has_failed_before:
        yield from turn.say("the second attempt worked")
    else:
        message = "The echo agent was told to fail once."
        yield TurnFailed(Code.E_CLI_EXIT_NONZERO, message, turn.text, transient=True)


def _fail(turn: EchoTurn, step: ScriptStep) -> Actions:
    code, message = failure_of(step)
    yield TurnFailed(code, message, turn.text)


def _hang(turn: EchoTurn, step: ScriptStep) -> Actions:
    turn.is_deaf = step.rest == "deaf"
    yield ThinkingDelta("hanging")
    yield Pause()


_ACTIONS: Final[dict[str, Callable[[EchoTurn, ScriptStep], Actions]]] = {
    "say": _say,
    "slow": _slow,
    "alone": _work_alone,
    "recall": _recall,
    "tool": _tool,
    "write": _write,
    "todo": _todo,
    "task": _task,
    "title": _title,
    "think": _think,
    "ask": _ask,
    "question": _question,
    "plan": _plan,
    "image": _image,
    "usage": _usage,
    "long": _long,
    "big-line": _big_line,
    "unasked": _speak_later,
    "transient": _fail_once,
    "fail": _fail,
    "hang": _hang,
    "help": _help,
}


def perform(turn: EchoTurn, steps: list[ScriptStep], *, turn_number: int, resume_key: str) -> Actions:
    """The whole turn, to its end: the session key first, then every step in order."""
    first = steps[0].rest if steps and steps[0].order == "say" else ""
    yield from turn.say(f"echo {turn.invocation.session_key}: {first}".rstrip())
    if turn_number > 1:
        yield from turn.say(f"turn {turn_number} of talk {resume_key}")
    for file in turn.invocation.files:
        yield from turn.say(f"with {file.name}")
    for step in steps[1:] if first else steps:
        yield from _ACTIONS[step.order](turn, step)
        yield Pause(0)  # so that an interruption is heard between any two steps
        yield from _follow_texts(turn)
    yield from _follow_texts(turn)
    yield TurnEnded(turn.text)


def _follow_texts(turn: EchoTurn) -> Actions:
    """What people have said since the turn began: its words are repeated, its orders followed."""
    yield TakeTexts()
    texts, turn.steered = turn.steered, []
    for text in texts:
        turn.talk.append(text)
        yield from turn.say(f"and then you said: {text.strip().partition(chr(10))[0]}")
        for step in read_script(text):
            if step.order != "say":
                yield from _ACTIONS[step.order](turn, step)


def _tiny_picture(shade: int = 0) -> bytes:
    """A PNG of two by two blue pixels; no two shades are the same file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    row = b"\x00" + bytes((0x1F + shade, 0x6F, 0xEB)) * 2
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(row * 2)) + chunk(b"IEND", b"")


TINY_PICTURE: Final = _tiny_picture()
