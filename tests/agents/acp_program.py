"""The six real agents that speak ACP, each as a command line with its own home, which knows the model server alone.

`acp_agent("opencode", tmp_path, server)` writes the settings files below `tmp_path` and says how to start the agent.
Give `argv` and `env` to whatever starts it: the SDK, a runtime, or a daemon whose environment holds `env`.
"""

import json
from pathlib import Path
from typing import Literal, get_args

import msgspec

from .environment import (
    GEMINI_MODEL,
    MADE_UP_KEY,
    agent_environment,
    isolated_environment,
    prepare_home,
    write_file,
)
from .install import installed_agents
from .model_server import ModelServer

AcpName = Literal["claude-agent-acp", "codex-acp", "gemini", "opencode", "qwen", "copilot"]
ACP_NAMES: tuple[AcpName, ...] = get_args(AcpName)

# Names that the agents offer to choose from; each agent begins with the first.
OPENCODE_MODELS = ("loopback/small", "loopback/large")
QWEN_MODELS = ("small", "large")
COPILOT_MODEL = "gpt-4.1"  # a name that copilot knows: it takes the size of the context from it


class AcpProgram(msgspec.Struct, frozen=True, kw_only=True):
    """How to start one agent: `argv` from `project`, with `env` and nothing else in its environment."""

    name: AcpName
    argv: tuple[str, ...]
    env: dict[str, str]
    home: Path
    project: Path

    @property
    def command(self) -> str:
        return self.argv[0]

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.argv[1:]


def acp_agent(name: AcpName, root: Path, server: ModelServer) -> AcpProgram:
    """Writes the agent's settings below `root`; the same `root` again is the same agent with its sessions."""
    home, project = root / "home", root / "project"
    project.mkdir(parents=True, exist_ok=True)
    _write_settings(name, home, server)
    return AcpProgram(
        name=name,
        argv=acp_arguments(name),
        env=_environment(name, home, server),
        home=home,
        project=project,
    )


def acp_arguments(name: AcpName) -> tuple[str, ...]:
    agents = installed_agents()
    match name:
        case "claude-agent-acp":
            return (str(agents.claude_agent_acp),)
        case "codex-acp":
            return (str(agents.codex_acp),)
        case "gemini":
            return (str(agents.gemini), "--skip-trust", "-m", GEMINI_MODEL, "--acp")
        case "opencode":
            return (str(agents.opencode), "acp")
        case "qwen":
            return (str(agents.qwen), "--acp", "--approval-mode", "default")
        case "copilot":
            return (str(agents.copilot), "--acp", "--no-auto-update")


def _environment(name: AcpName, home: Path, server: ModelServer) -> dict[str, str]:
    match name:
        case "claude-agent-acp":
            # Without it, it asks the model after each turn what the person may say next.
            quiet = {"CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false"}
            return agent_environment("claude", home, server) | isolated_environment(name, home, server) | quiet
        case "codex-acp":
            return agent_environment("codex", home, server)
        case "gemini":
            return agent_environment("gemini", home, server)
        case "opencode":
            # At every start it installs its plugin kit from npm; the model server is a registry that has none.
            return isolated_environment(name, home, server) | OPENCODE_ENVIRONMENT | {"npm_config_registry": server.url}
        case "qwen":
            model = {"OPENAI_API_KEY": MADE_UP_KEY, "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_MODEL": "small"}
            return isolated_environment(name, home, server) | model
        case "copilot":
            provider = {"COPILOT_PROVIDER_BASE_URL": f"{server.url}/v1", "COPILOT_PROVIDER_API_KEY": MADE_UP_KEY}
            return isolated_environment(name, home, server) | provider | COPILOT_ENVIRONMENT


OPENCODE_ENVIRONMENT = {
    "LOOPBACK_API_KEY": MADE_UP_KEY,
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
}

COPILOT_ENVIRONMENT = {
    "COPILOT_OFFLINE": "true",
    "COPILOT_MODEL": COPILOT_MODEL,
    "COPILOT_AUTO_UPDATE": "false",
}


def _write_settings(name: AcpName, home: Path, server: ModelServer) -> None:
    match name:
        case "claude-agent-acp":
            prepare_home("claude", home, server)
        case "codex-acp":
            prepare_home("codex", home, server)
        case "gemini":
            prepare_home("gemini", home, server)
        case "opencode":
            write_file(
                home / ".config" / "opencode" / "opencode.json", json.dumps(_opencode_settings(server), indent=2)
            )
        case "qwen":
            write_file(home / ".qwen" / "settings.json", json.dumps(_qwen_settings(server), indent=2))
        case "copilot":
            home.mkdir(parents=True, exist_ok=True)


def _opencode_settings(server: ModelServer) -> dict[str, object]:
    abilities = {"attachment": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
    limits = {"limit": {"context": 128_000, "output": 8_000}}
    names = [model.removeprefix("loopback/") for model in OPENCODE_MODELS]
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Loopback",
        "options": {"baseURL": f"{server.url}/v1", "apiKey": "{env:LOOPBACK_API_KEY}"},
        "models": {model: {"name": model, **abilities, **limits} for model in names},
    }
    return {
        "model": OPENCODE_MODELS[0],
        "small_model": OPENCODE_MODELS[0],
        "provider": {"loopback": provider},
        "enabled_providers": ["loopback"],  # it offers models of its own makers besides
        "permission": {"bash": "ask", "edit": "ask"},  # it asks about nothing unless it is told to
        "agent": {"title": {"disable": True}},  # spares the call that names the session
        "share": "disabled",
        "autoupdate": False,
    }


def _qwen_settings(server: ModelServer) -> dict[str, object]:
    """Pictures go only to models of which it is told that they see them."""
    common = {"envKey": "OPENAI_API_KEY", "baseUrl": f"{server.url}/v1"}
    abilities = {"generationConfig": {"maxRetries": 1, "modalities": {"image": True}, "contextWindowSize": 128_000}}
    models = [{"id": model, "name": model, **common, **abilities} for model in QWEN_MODELS]
    return QWEN_SETTINGS | {"modelProviders": {"openai": models}, "model": {"name": QWEN_MODELS[0]}}


QWEN_SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}},
    "general": {"enableAutoUpdate": False},
    # Without these it asks the model for memories and suggestions after every turn.
    "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False, "enableAutoSkill": False},
    "ui": {"enableFollowupSuggestions": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}
