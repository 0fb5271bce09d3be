"""The stage on which a replaying CLI stands in for the agent: no Node, no network, no model."""

import json
from pathlib import Path
from typing import Any, Literal

from fairlead.ports import Runtime
from fairlead.runtimes.claude.command_line import ClaudeSettings
from fairlead.runtimes.claude.runtime import ClaudeRuntime
from fairlead.runtimes.codex.runtime import CodexSettings, codex_runtime
from fairlead.runtimes.gemini.runtime import GeminiSettings, gemini_runtime
from tests.support.replaying_cli import TRANSCRIPTS, write_shim
from tests.support.runtime_contract import MemoryLogs, Scene

Cast = Literal["claude in a pool", "claude per turn", "codex", "gemini", "gemini in json mode"]
PER_TURN: tuple[Cast, ...] = ("claude per turn", "codex", "gemini")
CASTS: tuple[Cast, ...] = ("claude in a pool", *PER_TURN)

CLAUDE: dict[Scene, str] = {
    "answers": "claude/01-new-turn",
    "resumes": "claude/02-resume",
    "uses a tool": "claude/03c-tool-allowedTools",
    "is refused with 429": "claude/05-err429-maxretries1",
    "knows no such talk": "claude/02d-resume-bad-uuid",
    "hangs": "claude/01-new-turn",
}
CODEX: dict[Scene, str] = {
    "answers": "codex/01-new-turn",
    "resumes": "codex/02-resume",
    "uses a tool": "codex/03-tool-default",
    "is refused with 429": "codex/05-err429",
    "knows no such talk": "codex/02c-resume-bad-uuid",
    "hangs": "codex/01-new-turn",
}
GEMINI: dict[Scene, str] = {
    "answers": "gemini/01-new-turn-stream-json",
    "resumes": "gemini/02-resume",
    "uses a tool": "gemini/03b-tool-yolo",
    "is refused with 429": "gemini/05-err429",
    "knows no such talk": "gemini/02c-resume-bad-uuid",
    "hangs": "gemini/01-new-turn-stream-json",
}
SCENES: dict[str, dict[Scene, str]] = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI}
"""For each program, the recording that shows it in each scene of the contract."""


class ReplayStage:
    def __init__(self, cast: Cast, root: Path) -> None:
        self.cast = cast
        self.root = root
        self.logs = MemoryLogs()
        self.notes = root / "notes.ndjson"

    @property
    def program(self) -> str:
        return self.cast.split()[0]

    def prompt(self, scene: Scene) -> str:
        return f"the agent {scene}"

    def runtime(self, scene: Scene, **switches: object) -> Runtime:
        transcripts = SCENES[self.program]
        if scene == "resumes" and self.cast == "claude in a pool":
            return self.runtime_of("claude/04a-two-turns-one-process", **switches)
        if scene == "hangs":
            switches = {"hang": 1} | switches
        if scene in {"resumes", "knows no such talk"}:
            switches = {"resumed": self._playable(transcripts[scene])} | switches
            if scene == "knows no such talk":
                switches["keep_ids"] = 1
        first = transcripts["answers"] if scene == "resumes" else transcripts[scene]
        return self.runtime_of(first, **switches)

    def runtime_of(self, transcript: str, settings: dict[str, Any] | None = None, **switches: object) -> Runtime:
        shim = write_shim(self.root / "bin", self.program, self._playable(transcript), notes=self.notes, **switches)
        return self.runtime_with(str(shim), **settings or {})

    def runtime_with(self, command: str, **settings: Any) -> Runtime:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.root / "home"), "DISCORD_TOKEN": "not for agents"}
        common = {"command": command, **settings}
        match self.cast:
            case "claude in a pool":
                return ClaudeRuntime(ClaudeSettings(**common), environment, self.logs)
            case "claude per turn":
                return ClaudeRuntime(ClaudeSettings(**{"multi_turn": False} | common), environment, self.logs)
            case "codex":
                return codex_runtime(CodexSettings(**common), environment, self.logs)
            case "gemini":
                return gemini_runtime(GeminiSettings(**common), environment, self.logs)
            case "gemini in json mode":
                return gemini_runtime(GeminiSettings(**{"output": "json"} | common), environment, self.logs)

    def runs(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.notes.read_text().splitlines()]

    def _playable(self, transcript: str) -> str:
        """A pool talks both ways, so what was recorded one way is put behind a prompt."""
        if self.cast != "claude in a pool" or (TRANSCRIPTS / f"{transcript}.duplex.jsonl").exists():
            return transcript
        stem = self.root / "two-way" / transcript
        stem.parent.mkdir(parents=True, exist_ok=True)
        prompt = {"dir": ">", "msg": {"type": "user"}}
        said = [json.loads(line) for line in (TRANSCRIPTS / f"{transcript}.out").read_text().splitlines()]
        entries = [prompt, *({"dir": "<", "msg": message} for message in said)]
        code = (TRANSCRIPTS / f"{transcript}.rc").read_text()
        if code.strip() == "0":
            entries.append({"dir": "!", "msg": "we closed stdin"})
        stem.with_name(f"{stem.name}.duplex.jsonl").write_text("\n".join(json.dumps(entry) for entry in entries))
        stem.with_name(f"{stem.name}.rc").write_text(code)
        return str(stem)
