"""Acts as claude, codex or gemini by replaying a transcript, faults too. Knows no Fairlead, needs no Node.

A transcript is one run of the real program, in files with the same name and different endings: `.out` is its standard
output, `.err` its standard error, `.rc` its exit code, `.cmd` its command line, for readers. A program that also reads
lines while it runs has `.duplex.jsonl` instead of `.out`: lines it got (`"dir": ">"`) and printed (`"<"`), in order.

`write_shim` puts an executable with the CLI's name into a directory. The switches stand in the shim, because
a daemon that builds its children's environment from an allow-list would not pass them on:

    REPLAY_TRANSCRIPT    the transcript without its ending, e.g. …/transcripts/claude/01-new-turn
    REPLAY_RESUMED       the transcript to play instead when a session is resumed
    REPLAY_KEEP_IDS      do not put the resumed id in place of the recorded one
    REPLAY_VERSION       what --version prints
    REPLAY_NOTES         a file that gets one JSON line a run: argv, cwd, environment, pid, stdin (if one-way)
    REPLAY_EXIT          exit with this code
    REPLAY_GARBAGE       lines that are no JSON, or JSON of no sense, before each line
    REPLAY_OVERSIZED     one line of this many bytes after the first
    REPLAY_TOOL_CALLS    this many tool calls after the first line of the turn
    REPLAY_CUT           `line` or `utf8`: stop in the middle of the last line, or of a character
    REPLAY_HANG          hang after this many lines
    REPLAY_CLOSE_STDOUT  close stdout after this many lines, and hang
    REPLAY_DEAF          never read stdin: `hang` where it should be read, or `answers` all the same
    REPLAY_IGNORE        signals to ignore: `INT,TERM`
    REPLAY_GRANDCHILD    `quiet` or `holds-stdout`: leave a child in a session of its own that ignores signals
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
# Every program that is replayed, with what it prints for --version.
VERSIONS = {"claude": "2.1.325 (Claude Code)", "codex": "codex-cli 0.166.0", "gemini": "0.61.0"}
GARBAGE = (
    b"",
    b"not json",
    b"\xff\xfe\x00",
    b"[]",
    b"null",
    b'{"type": 42}',
    b'{"type": "from-the-future"}',
    b"{",
)
LIFETIME = 120  # seconds: what hangs or was left behind ends by itself if a test forgot it

Event = dict[str, Any]


def write_shim(directory: Path, name: str, transcript: str, **switches: object) -> Path:
    """`write_shim(bin, "claude", "claude/01-new-turn", exit=3)`: an executable that replays."""
    settings = {"transcript": TRANSCRIPTS / transcript, **switches}
    if "resumed" in settings:
        settings["resumed"] = TRANSCRIPTS / str(settings["resumed"])
    exports = [f"export REPLAY_{key.upper()}={shlex.quote(str(value))}" for key, value in settings.items()]
    program = shlex.join([sys.executable, "-IS", __file__, name])
    directory.mkdir(parents=True, exist_ok=True)
    shim = directory / name
    shim.write_text("\n".join(["#!/bin/sh", *exports, f'exec {program} "$@"', ""]))
    shim.chmod(0o755)
    return shim


def switch(name: str) -> str:
    return os.environ.get(f"REPLAY_{name}", "")


class Output:
    """Our stdout, with every fault that can befall it."""

    def __init__(self, name: str, session: str) -> None:
        self.name = name
        self.session = session
        self.lines = 0
        self.has_begun = False

    def say(self, line: bytes, *, last: bool = False) -> None:
        if switch("GARBAGE"):
            self._write(b"".join(garbage + b"\n" for garbage in GARBAGE))
        if last and switch("CUT"):
            self._write(cut_line(line, switch("CUT")))
            leave(recorded_code("0"))
        self._write(line + b"\n")
        self.lines += 1
        if not self.has_begun and b'"control_response"' not in line:  # that is said to the caller, before any turn
            self.has_begun = True
            self._add_after_the_first_line()
        self._stop_if_told()

    def _write(self, data: bytes) -> None:
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os._exit(141)

    def _add_after_the_first_line(self) -> None:
        if switch("OVERSIZED"):
            head, tail = b'{"type": "oversized", "data": "', b'"}\n'
            self._write(head + b"x" * (int(switch("OVERSIZED")) - len(head) - len(tail)) + tail)
        for n in range(int(switch("TOOL_CALLS") or 0)):
            events = tool_call(self.name, n, self.session)
            self._write(b"".join(json.dumps(event).encode() + b"\n" for event in events))

    def _stop_if_told(self) -> None:
        if switch("CLOSE_STDOUT") == str(self.lines):
            os.close(1)
            hang()
        if switch("HANG") == str(self.lines):
            hang()


def cut_line(line: bytes, how: str) -> bytes:
    """The beginning of a line, ended within a token or within a character."""
    if how == "utf8":
        return line[: len(line) // 2] + "é".encode()[:1]
    return line[: len(line) // 2]


def tool_call(name: str, number: int, session: str) -> tuple[Event, Event]:
    """One tool call and its result, as that CLI prints them."""
    call = f"call_{number}"
    match name:
        case "claude":
            use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"echo {number}"}}
            result = {"type": "tool_result", "tool_use_id": call, "content": str(number), "is_error": False}
            asked, answered = {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}
            return (
                {"type": "assistant", "message": asked, "session_id": session},
                {"type": "user", "message": answered, "session_id": session},
            )
        case "codex":
            item = {"id": call, "type": "command_execution", "command": f"echo {number}"}
            begun = item | {"aggregated_output": "", "exit_code": None, "status": "in_progress"}
            done = item | {"aggregated_output": f"{number}\n", "exit_code": 0, "status": "completed"}
            return {"type": "item.started", "item": begun}, {"type": "item.completed", "item": done}
        case "gemini":
            shell = {"tool_name": "run_shell_command", "parameters": {"command": f"echo {number}"}}
            return (
                {"type": "tool_use", "tool_id": call, **shell},
                {"type": "tool_result", "tool_id": call, "status": "success", "output": str(number)},
            )
        case _:
            raise ValueError(f"nobody has written down how {name} prints a tool call")


class Duplex:
    """A two-way recording: says what was recorded, waits for what was awaited."""

    def __init__(self, output: Output, entries: list[Event], *, replays_prompts: bool) -> None:
        self.output = output
        self.entries = entries
        self.replays_prompts = replays_prompts
        self.prompt: Event | None = None
        self.unread: Event | None = None
        # recorded request id → the caller's own; None if the caller never asked
        self.real_ids: dict[str, str | None] = {}

    def play(self) -> None:
        for place, entry in enumerate(self.entries):
            match entry["dir"]:
                case "<":
                    is_last = not any(later["dir"] == "<" for later in self.entries[place + 1 :])
                    self._say(entry["msg"], last=is_last)
                case ">":
                    self._await(entry["msg"])
                case _:
                    obey_remark(str(entry["msg"]))

    def _say(self, message: Event, *, last: bool) -> None:
        if message.get("type") == "control_response":
            recorded = message["response"]["request_id"]
            real = self.real_ids.get(recorded, recorded)
            if real is None:
                return
            message = message | {"response": message["response"] | {"request_id": real}}
        if message.get("type") == "result" and self.prompt and "uuid" in self.prompt:
            message = message | {"user_message_uuid": self.prompt["uuid"]}
            self.prompt = None
        self.output.say(json.dumps(message, ensure_ascii=False).encode(), last=last)

    def _await(self, recorded: Event) -> None:
        """Reads on until the caller says what the recording awaits; other requests are granted on the way."""
        while True:
            said = self._pending_or_read()
            if kind_of(said) == kind_of(recorded):
                break
            if said["type"] == "control_request":
                self._grant(said)
            elif recorded["type"] == "control_request":  # this caller does without what the recording asked
                self.real_ids[recorded["request_id"]] = None
                self.unread = said
                return
        if said["type"] == "control_request":
            self.real_ids[recorded["request_id"]] = said["request_id"]
        elif said["type"] == "user":
            self._take_prompt(said)

    def _pending_or_read(self) -> Event:
        said, self.unread = self.unread, None
        return said or read_message()

    def _grant(self, request: Event) -> None:
        granted = {"subtype": "success", "request_id": request["request_id"], "response": {}}
        self.output.say(json.dumps({"type": "control_response", "response": granted}).encode())

    def _take_prompt(self, said: Event) -> None:
        self.prompt = said
        if self.replays_prompts:
            echo = {"uuid": str(uuid.uuid4()), **said, "session_id": self.output.session, "isReplay": True}
            self.output.say(json.dumps(echo | {"parent_tool_use_id": None}).encode())


def kind_of(message: Event) -> tuple[str, str]:
    request = message.get("request")
    return message["type"], request["subtype"] if isinstance(request, dict) else ""


def read_message() -> Event:
    if switch("DEAF"):
        hang()  # a talk cannot go on unheard, whatever the switch says
    line = sys.stdin.buffer.readline()
    if not line:
        leave(recorded_code("0"))
    try:
        return json.loads(line)
    except ValueError as error:
        sys.stderr.write(f"Error parsing streaming input line: {error}\n")
        leave(1)


def obey_remark(remark: str) -> None:
    """`we closed stdin` waits for its end, `sent <Signals.SIGINT: 2>` for that signal."""
    if remark == "we closed stdin":
        while sys.stdin.buffer.readline():
            pass
    elif found := re.match(r"sent <Signals\.(\w+)", remark):
        awaited = signal.Signals[found[1]]
        signal.pthread_sigmask(signal.SIG_BLOCK, {awaited})
        signal.sigtimedwait({awaited}, LIFETIME)


def hang() -> NoReturn:
    signal.alarm(LIFETIME)
    while True:
        signal.pause()


def leave(code: int) -> NoReturn:
    sys.stderr.flush()
    os._exit(int(switch("EXIT") or code))  # no clean-up: stdout may be closed already


def recorded_code(text: str) -> int:
    """The exit code as recorded; a run that had to be killed had none, and hangs here too."""
    if not re.fullmatch(r"-?\d+", text.strip()):
        hang()
    return int(text) % 256


def resumed_id(arguments: list[str]) -> str | None:
    for place, argument in enumerate(arguments[:-1]):
        if argument in {"-r", "--resume", "resume"}:
            return arguments[place + 1]
    return next((a.removeprefix("--resume=") for a in arguments if a.startswith("--resume=")), None)


def session_in(text: str) -> str:
    found = re.search(r'"(?:session_id|thread_id)": ?"([^"]+)"', text)
    return found[1] if found else ""


def with_session(text: str, session: str | None) -> str:
    """The recording with the resumed id in place of its own, as the real CLIs answer."""
    own = session_in(text)
    return text if session is None or not own or switch("KEEP_IDS") else text.replace(own, session)


def take_stdin() -> str:
    """A one-shot run reads its stdin to the end before it answers; codex really waits for that for ever."""
    match switch("DEAF"):
        case "":
            return sys.stdin.read()
        case "answers":
            return ""
        case _:
            hang()


def note_run(arguments: list[str], stdin: str | None) -> None:
    if not switch("NOTES"):
        return
    seen = {"argv": arguments, "cwd": str(Path.cwd()), "pid": os.getpid(), "stdin": stdin}
    seen["environment"] = {key: value for key, value in os.environ.items() if not key.startswith("REPLAY_")}
    with Path(switch("NOTES")).open("a", encoding="utf-8") as notes:
        notes.write(json.dumps(seen) + "\n")


def leave_grandchild(how: str) -> None:
    """Ignores every polite signal in a session of its own; the environment is all that ties it to us."""
    polite = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.SIG_IGN) for number in polite]  # inherited through exec: no race
    stdout = None if how == "holds-stdout" else subprocess.DEVNULL
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stdout}
    child = subprocess.Popen(["/bin/sleep", str(LIFETIME)], start_new_session=True, **pipes)
    for number, handler in zip(polite, before, strict=True):
        signal.signal(number, handler)
    sys.stderr.write(f"grandchild {child.pid}\n")
    sys.stderr.flush()


def beside(stem: Path, ending: str) -> str | None:
    path = stem.with_name(f"{stem.name}.{ending}")
    return path.read_text(encoding="utf-8") if path.exists() else None


def signals_to_ignore() -> Iterator[signal.Signals]:
    yield from (signal.Signals[f"SIG{name}"] for name in switch("IGNORE").split(",") if name)


def main(name: str, arguments: list[str]) -> NoReturn:
    if "--version" in arguments:
        print(switch("VERSION") or VERSIONS[name], flush=True)
        leave(0)
    for ignored in signals_to_ignore():
        signal.signal(ignored, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if switch("GRANDCHILD"):
        leave_grandchild(switch("GRANDCHILD"))
    session = resumed_id(arguments)
    stem = Path((session and switch("RESUMED")) or switch("TRANSCRIPT"))
    sys.stderr.write(beside(stem, "err") or "")
    sys.stderr.flush()
    replay(name, stem, arguments, session)
    leave(recorded_code(beside(stem, "rc") or "0"))


def replay(name: str, stem: Path, arguments: list[str], session: str | None) -> None:
    two_way = beside(stem, "duplex.jsonl")
    text = with_session(two_way or beside(stem, "out") or "", session)
    output = Output(name, session_in(text))
    lines = text.rstrip("\n").split("\n") if text else []
    if two_way is not None:
        note_run(arguments, None)
        talk = [json.loads(line) for line in lines]
        Duplex(output, talk, replays_prompts="--replay-user-messages" in arguments).play()
        return
    note_run(arguments, take_stdin())
    for place, line in enumerate(lines):
        output.say(line.encode(), last=place == len(lines) - 1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
