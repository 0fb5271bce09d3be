"""An agent for pictures: it speaks ACP, plays one fixed scene in the project's directory, and asks before it edits.

Run as a program. It needs the standard library alone; what the pictures show of it is what Fairlead makes of it."""

import json
import sys
from pathlib import Path
from typing import Any

CART = "def total(prices, discount=0):\n    return sum(prices)\n"
FIXED = CART.replace("sum(prices)", "sum(prices) - discount")
TEST = "from cart import total\n\n\ndef test_the_discount_counts():\n    assert total([40, 60], discount=10) == 90\n"
FIX = "The cart ignores the discount. Fix it."
RUN = "Run the tests."
ANSWER = """`total` took the discount and never used it. It is subtracted now:

```python
def total(prices, discount=0):
    return sum(prices) - discount
```

| test | before | now |
|:---|---:|---:|
| `test_the_discount_counts` | 100 | **90** |

Shall I run the tests?"""
PLAN = ("Read the cart", "Subtract the discount", "Run the tests")


def make_project(directory: Path) -> None:
    (directory / "cart.py").write_text(CART)


class ActingAgent:
    def __init__(self) -> None:
        self._directory = Path()
        self._asked = 0

    def serve(self) -> None:
        for line in iter(sys.stdin.readline, ""):
            message = json.loads(line)
            if "id" in message and "method" in message:
                _send(id=message["id"], result=self._respond(message["method"], message.get("params", {})))

    def _respond(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                return {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": {"name": "acting", "version": "1"}}
            case "session/new":
                self._directory = Path(params["cwd"])
                return {"sessionId": "scene"}
            case "session/prompt":
                self._play("".join(block.get("text", "") for block in params["prompt"]))
                return {"stopReason": "end_turn"}
            case _:
                return {}

    def _play(self, prompt: str) -> None:
        if RUN in prompt:
            self._use("pytest -q", "execute", {"command": "pytest -q"}, asks=True)
            self._say("**1 test passed.**")
            return
        self._plan(0)
        self._say("I will look at the cart first.")
        self._use("Read cart.py", "read", {"path": "cart.py"})
        self._plan(1)
        change = {"type": "diff", "path": "cart.py", "oldText": CART, "newText": FIXED}
        self._use("Edit cart.py", "edit", {"path": "cart.py"}, asks=True, content=[change])
        (self._directory / "cart.py").write_text(FIXED)
        (self._directory / "test_cart.py").write_text(TEST)
        self._plan(2)
        self._say(ANSWER)

    def _use(self, title: str, kind: str, given: dict[str, str], *, asks: bool = False, content: Any = ()) -> None:
        tool_id = f"{kind}-1"
        call = {"toolCallId": tool_id, "title": title, "kind": kind, "rawInput": given, "content": list(content)}
        self._update(sessionUpdate="tool_call", status="pending", **call)
        if asks:
            self._ask(call)
        self._update(sessionUpdate="tool_call_update", toolCallId=tool_id, status="completed")

    def _ask(self, call: dict[str, Any]) -> None:
        self._asked += 1
        options = [
            {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]
        params = {"sessionId": "scene", "toolCall": call, "options": options}
        _send(id=f"ask-{self._asked}", method="session/request_permission", params=params)
        while json.loads(sys.stdin.readline()).get("id") != f"ask-{self._asked}":
            pass

    def _plan(self, done: int) -> None:
        states = ["completed"] * done + ["in_progress"] + ["pending"] * (len(PLAN) - done - 1)
        entries = [{"content": what, "priority": "medium", "status": s} for what, s in zip(PLAN, states, strict=True)]
        self._update(sessionUpdate="plan", entries=entries)

    def _say(self, text: str) -> None:
        self._update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})

    def _update(self, **update: Any) -> None:
        _send(method="session/update", params={"sessionId": "scene", "update": update})


def _send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    ActingAgent().serve()
