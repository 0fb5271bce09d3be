"""Scripted ACP agents as a person configures them: a program each, and a line in config.json."""

import json
from pathlib import Path
from typing import Any

from tests.support.scripted_acp.shim import Note, read_notes, write_shim


class ScriptedAgent:
    """One agent of a test. Its program takes notes of every message; its sessions outlive its processes."""

    def __init__(self, home: Path, name: str, /, **switches: Any) -> None:
        self.name = name
        self.notes = home / f"{name}.notes"
        directories = {"notes": self.notes, "state": home / f"{name}.sessions"}
        self.program = write_shim(home / "agents", name, **({"bare": True} | directories | switches))

    def starts(self) -> list[Note]:
        """One note for each process of this agent, self-checks of the daemon included."""
        return read_notes(self.notes, "start")

    def processes_with(self, method: str) -> list[int]:
        """The processes that got such a message, in the order of the messages."""
        return [note["pid"] for note in read_notes(self.notes, method=method)]

    def received(self, method: str) -> list[Any]:
        return [note["params"] for note in read_notes(self.notes, method=method)]

    def prompts(self) -> list[str]:
        """The words of every prompt that reached the agent."""
        blocks = [params["prompt"] for params in self.received("session/prompt")]
        return ["\n".join(block.get("text", "") for block in prompt) for prompt in blocks]

    def responses(self) -> list[Any]:
        """What the agent was told about its own requests: permissions and forms."""
        return [note["result"] for note in read_notes(self.notes, "response") if "result" in note]


def configure(state: Path, *agents: ScriptedAgent, env: tuple[str, ...] = ()) -> None:
    """Write config.json as a person writes it by hand, before the first start."""
    state.mkdir(parents=True, exist_ok=True)
    entries = {a.name: {"command": [str(a.program)], "env": list(env)} for a in agents}
    (state / "config.json").write_text(json.dumps({"version": 1, "agents": entries}, indent=2))


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
