"""The environment and settings that make each real CLI talk to the model server and to nobody else."""

import json
from pathlib import Path
from typing import Literal

from .install import installed_agents
from .model_server import ModelServer

AgentName = Literal["claude", "codex", "gemini"]
MADE_UP_KEY = "made-up-key-for-loopback"
CODEX_MODEL = "gpt-5.5"  # a name codex knows: an unknown one adds an error item to every turn
GEMINI_MODEL = "gemini-2.5-flash"  # a fixed model spares the call that chooses one


def agent_environment(name: AgentName, home: Path, server: ModelServer) -> dict[str, str]:
    """The whole environment of the child: nothing of ours leaks in."""
    return isolated_environment(name, home, server) | _own_settings(name, server)


def isolated_environment(program: str, home: Path, server: ModelServer) -> dict[str, str]:
    """A home of its own and no way out. On PATH is this one agent: a daemon starts every agent that it finds there for
    its self-check, and the others know nothing of the model server."""
    scratch = home / "tmp"
    scratch.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": f"{bin_with(home, program)}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(scratch),
        "TERM": "dumb",
        "HTTPS_PROXY": server.url,  # whoever tries to leave loopback is caught in server.strays
        "NO_PROXY": "127.0.0.1",
    }


def bin_with(home: Path, *programs: str) -> Path:
    """A directory with these programs and Node."""
    agents = installed_agents()
    directory = home / "bin"
    directory.mkdir(parents=True, exist_ok=True)
    for name, target in [*((program, agents.bin_dir / program) for program in programs), ("node", agents.node)]:
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(target)
    return directory


def _own_settings(name: AgentName, server: ModelServer) -> dict[str, str]:
    match name:
        case "claude":
            return {
                "ANTHROPIC_API_KEY": MADE_UP_KEY,
                "ANTHROPIC_BASE_URL": server.url,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_MAX_RETRIES": "1",  # without it a refusal takes three minutes
            }
        case "codex":
            return {"LOOPBACK_API_KEY": MADE_UP_KEY}
        case "gemini":
            return {
                "GEMINI_API_KEY": MADE_UP_KEY,
                "GOOGLE_GEMINI_BASE_URL": server.url,
                "GEMINI_CLI_NO_RELAUNCH": "true",
            }


def prepare_home(name: AgentName, home: Path, server: ModelServer) -> None:
    """Writes the settings files that have no environment variable."""
    match name:
        case "claude":
            home.mkdir(parents=True, exist_ok=True)
        case "codex":
            write_file(home / ".codex" / "config.toml", _codex_config(server))
        case "gemini":
            write_file(home / ".gemini" / "settings.json", json.dumps(GEMINI_SETTINGS, indent=2))


def write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _codex_config(server: ModelServer) -> str:
    return f"""\
model = "{CODEX_MODEL}"
model_provider = "loopback"
check_for_update_on_startup = false

[model_providers.loopback]
name = "loopback"
base_url = "{server.url}/v1"
env_key = "LOOPBACK_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

[features]
plugins = false

[analytics]
enabled = false

[otel]
metrics_exporter = "none"
"""


GEMINI_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"maxAttempts": 2, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
}
