"""The ACP agent of the benchmarks: a small program that answers at once and writes down when a prompt reached it.

It needs the standard library alone, so that what is measured is not the agent.
"""

import sys
from pathlib import Path
from typing import Final

import msgspec

from fairlead.kit.files import make_private_directory

UPDATES: Final = 40
"""How many updates the agent sends in a turn."""

_PROGRAM: Final = """#!{python} -SE
import json, sys, time
moments = open({moments!r}, "a", buffering=1)
def send(**message):
    sys.stdout.write(json.dumps({{"jsonrpc": "2.0", **message}}) + "\\n")
def update(text):
    content = {{"type": "text", "text": text}}
    said = {{"sessionUpdate": "agent_message_chunk", "content": content, "messageId": "m1"}}
    send(method="session/update", params={{"sessionId": "bench", "update": said}})
results = {{
    "initialize": {{
        "protocolVersion": 1,
        "agentCapabilities": {{"loadSession": True}},
        "agentInfo": {{"name": "bench", "version": "1"}},
    }},
    "session/new": {{"sessionId": "bench"}},
    "session/prompt": {{"stopReason": "end_turn"}},
}}
for line in iter(sys.stdin.readline, ""):
    arrived = time.time_ns()
    message = json.loads(line)
    if message.get("method") == "session/prompt":
        moments.write(f"{{arrived}}\\n")
        for number in range({updates}):
            update(f"word{{number}} ")
    if "id" in message:
        send(id=message["id"], result=results.get(message.get("method"), {{}}))
    sys.stdout.flush()
"""


class BenchAgent:
    def __init__(self, directory: Path) -> None:
        self._moments = directory / "prompts.txt"
        make_private_directory(directory)
        self._moments.touch()
        self.program = directory / "agent"
        self.program.write_text(_PROGRAM.format(python=sys.executable, moments=str(self._moments), updates=UPDATES))
        self.program.chmod(0o755)

    def last_prompt_at(self) -> float:
        """When the last prompt reached the agent, by the clock on the wall."""
        return int(self._moments.read_text().split()[-1]) / 1e9


def write_updates(path: Path, count: int) -> None:
    """What a long turn prints: words, and a tool call with its result after every forty of them."""
    with path.open("wb") as file:
        for number in range(count):
            message = {
                "jsonrpc": "2.0",
                "method": "session/update",
                "params": {"sessionId": "bench", "update": _update(number)},
            }
            file.write(msgspec.json.encode(message) + b"\n")


def _update(number: int) -> dict[str, object]:
    match number % 42:
        case 40:
            return {
                "sessionUpdate": "tool_call",
                "toolCallId": f"call_{number}",
                "title": "Run the tests",
                "kind": "execute",
                "status": "in_progress",
                "rawInput": {"command": "pytest -q tests"},
            }
        case 41:
            shown = {"type": "content", "content": {"type": "text", "text": "3 passed in 0.10 s\n" * 10}}
            return {
                "sessionUpdate": "tool_call_update",
                "toolCallId": f"call_{number - 1}",
                "status": "completed",
                "content": [shown],
            }
        case _:
            content = {"type": "text", "text": f"word{number} "}
            return {"sessionUpdate": "agent_message_chunk", "content": content, "messageId": "m1"}
