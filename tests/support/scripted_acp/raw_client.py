"""A client for tests that speaks JSON-RPC in plain lines, so that a test sees what an SDK would hide."""

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PATIENCE = 60  # seconds
Message = dict[str, Any]
Responder = Callable[[Message], Message]


class RawClient:
    """`heard` and `responses` keep every message; `answer` says what the agent gets for its own requests, by method."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.heard: list[Message] = []
        self.responses: dict[Any, Message] = {}
        self.garbage: list[bytes] = []
        self.answer: dict[str, Responder] = {}
        self._next_id = 0
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read_lines, daemon=True)
        self._reader.start()

    def send(self, message: Message) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def notify(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def begin(self, method: str, **params: Any) -> int:
        self._next_id += 1
        self.send({"id": self._next_id, "method": method, "params": params})
        return self._next_id

    def call(self, method: str, **params: Any) -> Message:
        """The response with its `result` or `error`."""
        return self.response_to(self.begin(method, **params))

    def response_to(self, request_id: int) -> Message:
        while request_id not in self.responses:
            self.read()
        return self.responses.pop(request_id)

    def until(self, is_it: Callable[[Message], bool]) -> Message:
        while True:
            message = self.read()
            if is_it(message):
                return message

    def until_update(self, kind: str) -> Message:
        return self.until(lambda message: update_in(message).get("sessionUpdate") == kind)["params"]["update"]

    def read(self) -> Message:
        """The next message; requests of the agent are answered on the way, lines that are no message are kept."""
        while line := self._lines.get(timeout=PATIENCE):
            message = _message_in(line)
            if message is None:
                self.garbage.append(line)
                continue
            if "method" in message:
                self.heard.append(message)
                self._respond(message)
            else:
                self.responses[message["id"]] = message
            return message
        self._lines.put(b"")  # for the next one who reads
        raise EOFError(f"The agent has closed its stdout. {self._last_words()}")

    def _read_lines(self) -> None:
        """Always reads, as a real client does: an agent that cannot write would neither hear nor act."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _last_words(self) -> str:
        """What stands on stderr, if the process is at its end."""
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            return "It still runs."
        assert self.process.stderr is not None
        return f"It ended with {self.process.returncode}: {self.process.stderr.read().decode()}"

    def _respond(self, message: Message) -> None:
        if "id" in message:
            refusal: Message = {"error": {"code": -32601, "message": "Method not found"}}
            answer = self.answer.get(message["method"], lambda _params: refusal)(message["params"])
            if answer:
                self.send({"id": message["id"], **answer})

    def end_stdin(self) -> None:
        with contextlib.suppress(BrokenPipeError):  # what was not yet written cannot be written any more
            assert self.process.stdin is not None
            self.process.stdin.close()

    def close(self) -> None:
        self.end_stdin()
        self._reader.join(PATIENCE)

    def initialize(self) -> Message:
        return self.call("initialize", protocolVersion=1, clientCapabilities={"elicitation": {"form": {}}})

    def new_session(self, cwd: str = "/tmp") -> str:
        session = self.call("session/new", cwd=cwd, mcpServers=[])["result"]["sessionId"]
        self.until_update("available_commands_update")
        return session

    def prompt(self, session: str, text: str, *more: Message) -> Message:
        return self.response_to(self.begin_prompt(session, text, *more))

    def begin_prompt(self, session: str, text: str, *more: Message) -> int:
        return self.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}, *more])

    def updates(self, session: str) -> list[Message]:
        """The updates of a session so far; they are forgotten."""
        found = [message["params"]["update"] for message in self.heard if session_of(message) == session]
        self.heard = [message for message in self.heard if session_of(message) != session]
        return found

    def say(self, session: str, text: str, *more: Message) -> str:
        """The words of a whole turn that must end well."""
        self.updates(session)
        response = self.prompt(session, text, *more)
        assert "result" in response, response
        return words_in(self.updates(session))


def words_in(updates: list[Message]) -> str:
    chunks = [update["content"] for update in updates if update.get("sessionUpdate") == "agent_message_chunk"]
    return "".join(chunk.get("text", "") for chunk in chunks)


def kinds_in(updates: list[Message]) -> list[str]:
    return [update.get("sessionUpdate", "") for update in updates]


def update_in(message: Message) -> Message:
    return message["params"]["update"] if message.get("method") == "session/update" else {}


def session_of(message: Message) -> str:
    return message["params"]["sessionId"] if message.get("method") == "session/update" else ""


def choose(option: str) -> Responder:
    """For `session/request_permission`."""
    return lambda _params: {"result": {"outcome": {"outcome": "selected", "optionId": option}}}


def _message_in(line: bytes) -> Message | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) and ("method" in message or "id" in message) else None


@contextlib.contextmanager
def running(shim: Path, *arguments: str, **options: Any) -> Iterator[RawClient]:
    pipe = subprocess.PIPE
    with subprocess.Popen([shim, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, **options) as process:
        client = RawClient(process)
        try:
            yield client
        finally:
            process.kill()
            client.close()
