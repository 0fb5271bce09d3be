"""An agent that says what a real one was recorded to say: `python replaying_agent.py DIALOGUE.duplex.jsonl`.

It waits for each request, response and notification that the recorded client sent, of the same method; what else the
client asks for, it grants. Standard library alone, because it is started for every recording.
"""

import json
import sys
from pathlib import Path
from typing import Any

Message = dict[str, Any]


def main(path: str) -> None:
    entries = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    real_ids: dict[Any, Any] = {}
    for entry in entries:
        message = entry["msg"]
        if entry["dir"] == ">":
            sent = wait_for(message)
            if "method" in message and "id" in message:
                real_ids[message["id"]] = sent["id"]
        elif entry["dir"] == "<":
            say({**message, "id": real_ids[message["id"]]} if is_response(message) else message)
    while sys.stdin.readline():
        pass


def wait_for(recorded: Message) -> Message:
    while line := sys.stdin.readline():
        sent = json.loads(line)
        if sent.get("method") == recorded.get("method"):
            return sent
        if "method" in sent and "id" in sent:
            say({"jsonrpc": "2.0", "id": sent["id"], "result": {}})
    sys.exit(0)


def is_response(message: Message) -> bool:
    return "id" in message and "method" not in message


def say(message: Message) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
