"""Acts as `codex exec` and does what each line of its prompt says: `call TOOL {arguments}` calls one of Fairlead's own
tools, through the very tool server that an agent starts, `say TOOL {arguments}` what that server says to Fairlead, for
a user who cannot start it; `look FILE` tries to read a file; `write FILE WORDS` writes one. It answers with what came
of it. Knows nothing else of Fairlead."""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any


def write_program(directory: Path) -> Path:
    program = directory / "calling-codex"
    program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", __file__])} "$@"\n')
    program.chmod(0o755)
    return program


def tell(event: dict[str, Any]) -> None:
    os.write(1, (json.dumps(event) + "\n").encode())


class ToolServer:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "fairlead", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._number = 0
        client = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
        self.ask("initialize", client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self._process.stdout is not None
        while True:
            said = json.loads(self._process.stdout.readline())
            if said.get("id") == self._number:
                return said["result"]

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        verdict = "no" if result.get("isError") else "ok"
        return f"{tool} {verdict}: {result['content'][0]['text']}"


def say_over_the_socket(tool: str, arguments: dict[str, Any]) -> str:
    grant = json.loads(Path(os.environ["FAIRLEAD_MCP_GRANT"]).read_text())
    call = {"ask": "call", "token": grant["token"], "call_id": uuid.uuid4().hex, "tool": tool, "arguments": arguments}
    with socket.socket(socket.AF_UNIX) as way:
        way.connect(grant["socket"])
        way.sendall(json.dumps(call).encode() + b"\n")
        reply = json.loads(way.makefile().readline())
    return f"{tool} {'ok' if reply.get('ok', True) else 'no'}: {reply.get('text', '')}"


def can_read(path: str) -> bool:
    try:
        Path(path).read_bytes()
    except OSError:
        return False
    return True


def main() -> None:
    if "--version" in sys.argv:
        print("codex-cli 0.166.0")
        return
    prompt = sys.stdin.read()
    tell({"type": "thread.started", "thread_id": str(uuid.uuid4())})
    tell({"type": "turn.started"})
    said: list[str] = []
    calls = re.findall(r"^call (\w+) (\{.*\})$", prompt, re.MULTILINE)
    if calls:
        server = ToolServer()
        said += [server.call(tool, json.loads(arguments)) for tool, arguments in calls]
    said += [
        say_over_the_socket(tool, json.loads(arguments))
        for tool, arguments in re.findall(r"^say (\w+) (\{.*\})$", prompt, re.MULTILINE)
    ]
    pictures = [sys.argv[at + 1] for at, word in enumerate(sys.argv) if word == "-i"]
    said += [f"picture {Path(path).read_bytes().hex()}" for path in pictures]
    said += [f"read {path} {can_read(path)}" for path in re.findall(r"^look (\S+)$", prompt, re.MULTILINE)]
    for path, words in re.findall(r"^write (\S+) (.*)$", prompt, re.MULTILINE):
        Path(path).write_text(words)
        item = {
            "id": "item_1",
            "type": "file_change",
            "changes": [{"path": path, "kind": "add"}],
            "status": "completed",
        }
        tell({"type": "item.completed", "item": item})
    answer = {"id": "item_0", "type": "agent_message", "text": "\n".join(said) or "done"}
    tell({"type": "item.completed", "item": answer})
    tell({"type": "turn.completed", "usage": {"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1}})


if __name__ == "__main__":
    main()
