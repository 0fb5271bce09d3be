"""The stage on which the real CLIs act, against the model server on loopback."""

from pathlib import Path
from typing import Any, Literal

from fairlead.ports import Runtime
from fairlead.runtimes.claude.command_line import ClaudeSettings
from fairlead.runtimes.claude.runtime import ClaudeRuntime
from fairlead.runtimes.codex.runtime import CodexSettings, codex_runtime
from fairlead.runtimes.gemini.runtime import GeminiSettings, gemini_runtime
from tests.support.runtime_contract import MemoryLogs, Scene

from .environment import GEMINI_MODEL, agent_environment, prepare_home
from .install import installed_agents
from .model_server import ModelServer

Cast = Literal["claude in a pool", "claude per turn", "codex", "gemini", "gemini in json mode"]
CASTS: tuple[Cast, ...] = ("claude in a pool", "claude per turn", "codex", "gemini")

PROMPTS: dict[Scene, str] = {
    "answers": "my name is Alice",
    "resumes": "what is my name?",
    "uses a tool": "run: echo hello",
    "is refused with 429": "status: 429",
    "knows no such talk": "hello",
    "hangs": "hang",
}


class RealStage:
    def __init__(self, cast: Cast, root: Path, server: ModelServer) -> None:
        self.cast: Cast = cast
        self.root = root
        self.server = server
        self.logs = MemoryLogs()
        prepare_home(self.program, root / "home", server)

    @property
    def program(self) -> Any:
        return self.cast.split()[0]

    def prompt(self, scene: Scene) -> str:
        return PROMPTS[scene]

    def runtime(self, scene: Scene = "answers", **settings: Any) -> Runtime:
        environment = {
            **agent_environment(self.program, self.root / "home", self.server),
            "DISCORD_TOKEN": "not for agents",
            "FAIRLEAD_HTTP_TOKEN": "not for agents",
        }
        common: dict[str, Any] = {"command": str(getattr(installed_agents(), self.program)), **settings}
        match self.cast:
            case "claude in a pool":
                return ClaudeRuntime(ClaudeSettings(**common), environment, self.logs)
            case "claude per turn":
                # Nobody can be asked, so the tools of the tier must be allowed beforehand.
                return ClaudeRuntime(ClaudeSettings(**{"multi_turn": False} | common), environment, self.logs)
            case "codex":
                own = {"extra_environment": ("LOOPBACK_API_KEY",)}
                return codex_runtime(CodexSettings(**own | common), environment, self.logs)
            case "gemini":
                return gemini_runtime(GeminiSettings(**{"model": GEMINI_MODEL} | common), environment, self.logs)
            case "gemini in json mode":
                json_mode = {"model": GEMINI_MODEL, "output": "json"}
                return gemini_runtime(GeminiSettings(**json_mode | common), environment, self.logs)
