"""Agents that are known to speak the Agent Client Protocol (ACP): how each is run, installed and logged in.

This is data. An agent that is missing here needs no entry: a line of configuration names its command.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

import msgspec

from fairlead.runtimes.checks import KnownGood
from fairlead.runtimes.gemini_defaults import check_quietly, keep_sessions


class AcpAgent(msgspec.Struct, frozen=True, kw_only=True):
    """All that the runtime needs to run one agent. Of Fairlead's environment the agent sees the variables that begin
    with one of `own_prefixes`, and those that `extra_environment` names; `environment` is set for it, unless the
    person has set the same variable, and `check_environment` besides, for the self-check alone: nobody has asked for
    that one, so it sends no usage statistics and updates nothing where the agent can be kept from it."""

    name: str
    command: tuple[str, ...]
    own_prefixes: tuple[str, ...] = ()
    extra_environment: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    check_environment: Mapping[str, str] = {}
    login_hint: str = ""
    good: KnownGood | None = None


class KnownAgent(msgspec.Struct, frozen=True, kw_only=True):
    """`commands` are the ways to run it, the preferred one first; `good` are versions of the first. `npm` or `pypi` is
    the package that brings it; an agent with neither is installed by its publisher's own installer. `about` is one line
    for people who look for an agent."""

    name: str
    about: str = ""
    commands: tuple[tuple[str, ...], ...]
    own_prefixes: tuple[str, ...]
    login_hint: str
    environment: Mapping[str, str] = {}
    check_environment: Mapping[str, str] = {}
    npm: str = ""
    pypi: str = ""
    good: KnownGood | None = None

    @property
    def programs(self) -> tuple[str, ...]:
        return tuple(command[0] for command in self.commands)


KNOWN_AGENTS: Final = (
    KnownAgent(
        name="claude-acp",
        about="Claude Code over ACP",
        commands=(("claude-agent-acp",), ("claude-code-acp",)),
        own_prefixes=("ANTHROPIC_", "CLAUDE_CODE_", "CLAUDE_CONFIG_DIR"),
        login_hint="Run `claude` once and log in, or set ANTHROPIC_API_KEY.",
        check_environment={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        npm="@agentclientprotocol/claude-agent-acp",
        good=KnownGood((0, 70, 0), (0, 99, 99)),
    ),
    KnownAgent(
        name="codex-acp",
        about="OpenAI Codex over ACP: asks for permission, which `codex exec` cannot",
        commands=(("codex-acp",),),
        own_prefixes=("OPENAI_", "CODEX_"),
        login_hint="Run `codex login`, or set OPENAI_API_KEY or CODEX_API_KEY.",
        npm="@agentclientprotocol/codex-acp",
        good=KnownGood((1, 6, 0), (2, 6, 99)),
    ),
    KnownAgent(
        name="gemini-acp",
        about="Google Gemini CLI over ACP: asks for permission",
        commands=(("gemini", "--acp"),),
        own_prefixes=("GEMINI_", "GOOGLE_"),
        login_hint="Run `gemini` once and log in, or set GEMINI_API_KEY.",
        environment=keep_sessions(),
        check_environment=check_quietly(),
        npm="@google/gemini-cli",
        good=KnownGood((0, 50, 0), (0, 61, 99)),
    ),
    KnownAgent(
        name="opencode",
        about="opencode: open source, many model providers",
        commands=(("opencode", "acp"),),
        own_prefixes=("OPENCODE_",),
        login_hint="Run `opencode auth login`.",
        # Unless it is told to, opencode asks about nothing.
        environment={"OPENCODE_PERMISSION": '{"edit": "ask", "bash": "ask"}'},
        check_environment={"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        npm="opencode-ai",
        good=KnownGood((1, 18, 0), (1, 18, 99)),
    ),
    KnownAgent(
        name="qwen",
        about="Qwen Code, by Alibaba",
        commands=(("qwen", "--acp"),),
        own_prefixes=("QWEN_", "OPENAI_", "DASHSCOPE_", "BAILIAN_"),
        login_hint="Run `qwen` once and log in, or set OPENAI_API_KEY and OPENAI_BASE_URL.",
        check_environment={"QWEN_USAGE_STATISTICS_ENABLED": "false"},
        npm="@qwen-code/qwen-code",
        good=KnownGood((0, 21, 0), (0, 24, 99)),
    ),
    KnownAgent(
        name="copilot",
        about="GitHub Copilot CLI",
        commands=(("copilot", "--acp"),),
        own_prefixes=("COPILOT_", "GH_TOKEN", "GITHUB_TOKEN"),
        login_hint="Run `copilot` once and log in with /login, or set COPILOT_GITHUB_TOKEN.",
        check_environment={"COPILOT_AUTO_UPDATE": "false"},
        npm="@github/copilot",
        good=KnownGood((1, 0, 80), (1, 0, 102)),
    ),
    KnownAgent(
        name="goose",
        about="goose, by Block: open source, many model providers",
        commands=(("goose", "acp"),),
        own_prefixes=("GOOSE_",),
        login_hint="Run `goose configure`.",
        good=KnownGood((1, 8, 0), (1, 50, 99)),
    ),
    KnownAgent(
        name="kimi",
        about="Kimi CLI, by Moonshot AI",
        commands=(("kimi", "acp"),),
        own_prefixes=("KIMI_", "MOONSHOT_"),
        login_hint="Run `kimi login`.",
        pypi="kimi-cli",
    ),
    KnownAgent(
        name="hermes",
        about="Hermes Agent, by Nous Research",
        commands=(("hermes-acp",),),
        own_prefixes=("HERMES_", "OPENROUTER_", "NOUS_"),
        login_hint="Run `hermes setup`, or put the provider's key into ~/.hermes/.env.",
        pypi="hermes-agent[acp]",
        good=KnownGood((0, 19, 0), (0, 19, 99)),
    ),
    KnownAgent(
        name="auggie",
        about="Auggie CLI, by Augment Code",
        commands=(("auggie", "--acp"),),
        own_prefixes=("AUGMENT_",),
        login_hint="Run `auggie login`, or set AUGMENT_SESSION_AUTH.",
        npm="@augmentcode/auggie",
    ),
    KnownAgent(
        name="cline",
        about="Cline",
        commands=(("cline", "--acp"),),
        own_prefixes=("CLINE_",),
        login_hint="Run `cline auth`.",
        npm="cline",
    ),
    KnownAgent(
        name="cursor",
        about="Cursor's agent",
        commands=(("cursor-agent", "acp"),),
        own_prefixes=("CURSOR_",),
        login_hint="Run `cursor-agent login`, or set CURSOR_API_KEY.",
    ),
    KnownAgent(
        name="vibe",
        about="Mistral Vibe",
        commands=(("vibe-acp",),),
        own_prefixes=("MISTRAL_", "VIBE_"),
        login_hint="Run `vibe` once, or set MISTRAL_API_KEY.",
        pypi="mistral-vibe",
    ),
    KnownAgent(
        name="kiro",
        about="Kiro CLI, by AWS",
        commands=(("kiro-cli", "acp"),),
        own_prefixes=("KIRO_",),
        login_hint="Run `kiro-cli login`.",
    ),
    KnownAgent(
        name="openhands",
        about="OpenHands: open source, many model providers",
        commands=(("openhands", "acp"),),
        own_prefixes=("OPENHANDS_", "LLM_"),
        login_hint="Run `openhands` once and set the model with /settings.",
        pypi="openhands",
    ),
    KnownAgent(
        name="qoder",
        about="Qoder CLI",
        commands=(("qodercli", "--acp"),),
        own_prefixes=("QODER_",),
        login_hint="Run `qodercli` once and log in with /login.",
        npm="@qoder-ai/qodercli",
    ),
    KnownAgent(
        name="kilo",
        about="Kilo Code CLI",
        commands=(("kilo", "acp"),),
        own_prefixes=("KILO_", "KILOCODE_"),
        login_hint="Run `kilo auth login`.",
        npm="@kilocode/cli",
    ),
    KnownAgent(
        name="pi",
        about="pi coding agent, through an adapter",
        commands=(("pi-acp",),),
        own_prefixes=("PI_",),
        login_hint="Run `pi` once and log in with /login.",
        npm="pi-acp",
    ),
    KnownAgent(
        name="stakpak",
        about="Stakpak: DevOps agent",
        commands=(("stakpak", "acp"),),
        own_prefixes=("STAKPAK_",),
        login_hint="Run `stakpak login`, or set STAKPAK_API_KEY.",
    ),
)
"""In the order in which people are offered those that are on PATH."""


def known_agent(name: str) -> KnownAgent | None:
    return next((known for known in KNOWN_AGENTS if known.name == name), None)


def agent_of_command(command: tuple[str, ...]) -> KnownAgent | None:
    """The agent whose program this command runs, wherever the program lies."""
    program = PurePath(command[0]).name
    return next((known for known in KNOWN_AGENTS if program in known.programs), None)
