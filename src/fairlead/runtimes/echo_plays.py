"""How the echo agent plays each order of its script: generators that say what happens, or what to wait for.

Pure: time passes and answers come only because `echo.py` lets them.
"""

import struct
import zlib
from collections.abc import Callable, Generator
from typing import Final, TypeAlias

import msgspec

from fairlead.core.engine import (
    Diagnostic,
    EngineEvent,
    ImageProduced,
    Invocation,
    Option,
    PermissionRequested,
    PlanProposed,
    Question,
    QuestionRequested,
    Response,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.runtimes.echo_script import HELP, Step, failure_of, tool_input

CHUNK: Final = 400
"""Characters of one delta: long answers arrive in several, as an agent's do."""

MAX_PICTURES: Final = 100


class Pause(msgspec.Struct, frozen=True):
    """Wait; without `seconds`, until stopped."""

    seconds: float | None = None


class AwaitAnswer(msgspec.Struct, frozen=True):
    request_id: str


Deed: TypeAlias = EngineEvent | Pause | AwaitAnswer
Play: TypeAlias = Generator[Deed, Response | None, None]


class Stage(msgspec.Struct):
    """What one turn has said and used so far."""

    invocation: Invocation
    has_failed_before: bool = False
    said: list[str] = []
    afterwards: list[str] = []
    is_deaf: bool = False
    asked: int = 0
    tools: int = 0

    @property
    def text(self) -> str:
        return "\n".join(self.said)

    def say(self, text: str) -> Play:
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


def _say(stage: Stage, step: Step) -> Play:
    yield from stage.say(step.rest)


def _help(stage: Stage, _step: Step) -> Play:
    yield from stage.say(HELP)


def _slow(_stage: Stage, step: Step) -> Play:
    yield ThinkingDelta(f"waiting {step.number(1):g} s")
    yield Pause(step.number(1))


def _think(_stage: Stage, step: Step) -> Play:
    yield ThinkingDelta(step.rest)


def _tool(stage: Stage, step: Step) -> Play:
    name, _, what = (step.rest or "Bash true").partition(" ")
    tool_id = stage.new_tool_id()
    yield ToolStarted(tool_id, name, tool_input(name, what))
    yield ToolEnded(tool_id, summary=f"pretended {name} {what}".rstrip())


def _ask(stage: Stage, step: Step) -> Play:
    """What a rule of this session allows is not asked again."""
    command = step.rest or "true"
    if f"Bash({command})" not in stage.invocation.allowed:
        request_id = stage.new_request_id()
        yield PermissionRequested(
            request_id=request_id,
            tool="Bash",
            title=f"Run {command}",
            detail=command,
            input=tool_input("Bash", command),
        )
        answer = yield AwaitAnswer(request_id)
        if answer is None or answer.verdict == "deny":
            why = f" ({answer.message})" if answer is not None and answer.message else ""
            yield from stage.say(f"denied: {command}{why}")
            return
    yield from _tool(stage, Step("tool", f"Bash {command}"))
    yield from stage.say(f"allowed: {command}")


def _question(stage: Stage, step: Step) -> Play:
    questions = tuple(map(_question_of, (step.rest or "Shall I go on? | yes | no").split("||")))
    request_id = stage.new_request_id()
    yield QuestionRequested(request_id, questions)
    answer = yield AwaitAnswer(request_id)
    for each in questions:
        chosen = "" if answer is None else answer.chosen.get(each.text, answer.message or answer.verdict)
        yield from stage.say(f"the answer to {each.text} is {chosen}")


def _question_of(words: str) -> Question:
    text, *options = [part.strip() for part in words.split("|")]
    return Question(text, tuple(Option(o) for o in options if o))


def _plan(stage: Stage, step: Step) -> Play:
    request_id = stage.new_request_id()
    yield PlanProposed(request_id, step.rest or "1. Say hello.\n2. Go home.")
    answer = yield AwaitAnswer(request_id)
    is_approved = answer is not None and answer.verdict == "allow"
    words = "the plan was approved" if is_approved else "the plan was rejected"
    yield from stage.say(f"{words}: {answer.message}" if answer is not None and answer.message else words)


def _image(_stage: Stage, step: Step) -> Play:
    for number in range(min(int(step.number(1)), MAX_PICTURES)):
        yield ImageProduced("image/png", _tiny_picture(number) if number else TINY_PICTURE)


def _usage(_stage: Stage, step: Step) -> Play:
    numbers = [Step("usage", word).number(0) for word in step.rest.split()[:3]]
    tokens_in, tokens_out, cost = (*numbers, 0.0, 0.0, 0.0)[:3]
    yield UsageReported(input_tokens=int(tokens_in), output_tokens=int(tokens_out), cost_usd=cost)


def _long(stage: Stage, step: Step) -> Play:
    length = int(step.number(5000))
    line = "Every word of this sentence is here to make the answer long.\n"
    yield from stage.say((line * (length // len(line) + 1))[:length])


def _big_line(stage: Stage, step: Step) -> Play:
    """In one delta: nothing on the way may split a line for its own convenience."""
    line = "x" * int(step.number(300_000))
    stage.said.append(line)
    yield TextDelta(line)


def _speak_later(stage: Stage, step: Step) -> Play:
    stage.afterwards.append(step.rest or "something came to my mind")
    yield Diagnostic("will speak unasked when this turn is over")


def _fail_once(stage: Stage, _step: Step) -> Play:
    if stage.has_failed_before:
        yield from stage.say("the second attempt worked")
    else:
        message = "The echo agent was told to fail once."
        yield TurnFailed(Code.E_CLI_EXIT_NONZERO, message, stage.text, transient=True)


def _fail(stage: Stage, step: Step) -> Play:
    code, message = failure_of(step)
    yield TurnFailed(code, message, stage.text)


def _hang(stage: Stage, step: Step) -> Play:
    stage.is_deaf = step.rest == "deaf"
    yield ThinkingDelta("hanging")
    yield Pause()


_PLAYS: Final[dict[str, Callable[[Stage, Step], Play]]] = {
    "say": _say,
    "slow": _slow,
    "tool": _tool,
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


def play(stage: Stage, steps: list[Step], *, turn_number: int, talk: str) -> Play:
    """The whole turn, to its end: the session key first, then every step in order."""
    first = steps[0].rest if steps and steps[0].order == "say" else ""
    yield from stage.say(f"echo {stage.invocation.session_key}: {first}".rstrip())
    if turn_number > 1:
        yield from stage.say(f"turn {turn_number} of talk {talk}")
    for file in stage.invocation.files:
        yield from stage.say(f"with {file.name}")
    for step in steps[1:] if first else steps:
        yield from _PLAYS[step.order](stage, step)
        yield Pause(0)  # so that an interruption is heard between any two steps
    yield TurnEnded(stage.text)


def _tiny_picture(shade: int = 0) -> bytes:
    """A PNG of two by two blue pixels; no two shades are the same file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    row = b"\x00" + bytes((0x1F + shade, 0x6F, 0xEB)) * 2
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(row * 2)) + chunk(b"IEND", b"")


TINY_PICTURE: Final = _tiny_picture()
