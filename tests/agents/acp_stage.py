"""The stage on which the real ACP agents act through Fairlead's own AcpRuntime, against the model server."""

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any, Final

from fairlead.core.engine import Ask, PermissionRequested, QuestionRequested, Response
from fairlead.runtimes.acp.known_agents import AcpAgent, known_agent
from fairlead.runtimes.acp.runtime import AcpRuntime, AcpSettings
from tests.runtimes.acp.harness import Talk
from tests.support.runtime_contract import MemoryLogs, Scene

from .acp_program import AcpName, acp_agent
from .model_server import ModelServer, Refuse
from .real_stage import PROMPTS

KNOWN_AS: Final[dict[AcpName, str]] = {
    "claude-agent-acp": "claude-acp",
    "codex-acp": "codex-acp",
    "gemini": "gemini-acp",
    "opencode": "opencode",
    "qwen": "qwen",
    "copilot": "copilot",
}
"""The names that people choose them by."""

EXTRA_ENVIRONMENT: Final = ("LOOPBACK_API_KEY", "npm_config_registry")


class RealAcpStage:
    """One real agent with a home and a project of its own, run with the variables that Fairlead knows it to need."""

    def __init__(self, name: AcpName, root: Path, server: ModelServer) -> None:
        self.name: AcpName = name
        self.root = root
        self.server = server
        self.logs = MemoryLogs()
        self.program = acp_agent(name, root, server)

    @property
    def project(self) -> Path:
        return self.program.project

    def prompt(self, scene: Scene) -> str:
        if scene != "is refused with 429":
            return PROMPTS[scene]
        if self.name == "opencode":  # it tells the words of the refusal, and not its status
            self.server.script(*[Refuse(429, 1, "Rate limit reached (429)")] * 9)
            return "hello"
        return "status: 429 after=1"  # copilot would wait for a minute if it were not told when to ask again

    def runtime(self, scene: Scene = "answers", **settings: Any) -> AcpRuntime:
        del scene
        known = known_agent(KNOWN_AS[self.name])
        assert known is not None
        agent = AcpAgent(
            name=known.name,
            command=self.program.argv,
            own_prefixes=known.own_prefixes,
            extra_environment=EXTRA_ENVIRONMENT,
            environment=known.environment,
            check_environment=known.check_environment,
        )
        secret = {"DISCORD_TOKEN": "not for agents", "FAIRLEAD_HTTP_TOKEN": "not for agents"}
        return AcpRuntime(
            agent,
            settings=AcpSettings(check_mark=f"{self.root.name}-{os.getpid()}:check", **settings),
            environment={**self.program.env, **secret},
            job_logs=self.logs,
        )

    def talk(self, runtime: AcpRuntime, name: str = "s", **always: Any) -> Talk:
        stage: Any = self  # a talk needs the directory of its stage alone
        return Talk(stage, runtime, name, **always)

    def asks_about(self, command: str) -> str:
        """A prompt upon which the agent asks before it runs this command. Codex runs in its sandbox without asking, so
        it is made to ask for a way out of it."""
        if self.name != "codex-acp":
            return f"run: {command}"
        escalated = {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "the test wants it"}
        return f"tool: exec_command {json.dumps(escalated)}"

    def forget_settings(self) -> None:
        """As on a machine where nobody has set anything about statistics and updates."""
        for directory in (".gemini", ".qwen"):
            shutil.rmtree(self.program.home / directory, ignore_errors=True)
        for name in ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "COPILOT_OFFLINE", "COPILOT_AUTO_UPDATE"):
            self.program.env.pop(name, None)

    def let_a_minute_pass(self) -> None:
        """Gemini names a session's file after the minute and the id, and a session of the current minute is not loaded
        before the minute is over: here the file becomes one of an earlier minute."""
        for file in self.program.home.glob(".gemini/tmp/*/chats/session-*.jsonl"):
            file.rename(file.with_name(f"session-2020-01-01T00-00-{file.stem[-8:]}.jsonl"))


def in_blue(ask: Ask) -> Response:
    """Answers a question with the option `blue`, and allows whatever else is asked."""
    if not isinstance(ask, QuestionRequested):
        return Response(request_id=ask.request_id, verdict="allow")
    return Response(request_id=ask.request_id, verdict="allow", chosen={ask.items[0].text: "blue"})


class Answers:
    """Remembers what was asked, and gives each permission the same verdict."""

    def __init__(self, verdict: Any) -> None:
        self.asked: list[Ask] = []
        self._verdict = verdict

    def __call__(self, ask: Ask) -> Response:
        self.asked.append(ask)
        return Response(request_id=ask.request_id, verdict=self._verdict)

    @property
    def tools(self) -> list[str]:
        return [ask.tool for ask in self.asked if isinstance(ask, PermissionRequested)]


async def until_there(path: Path) -> None:
    """Waits for a file that a tool makes."""
    async with asyncio.timeout(180):
        while not path.exists():
            await asyncio.sleep(0.02)
