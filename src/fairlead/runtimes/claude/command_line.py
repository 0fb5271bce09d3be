"""Claude's argument vectors, every flag from its setting. Pure."""

from typing import Final, Literal

import msgspec

from fairlead.core.engine import ForkOrigin
from fairlead.runtimes.tool_policy import FULL, ToolPolicy
from fairlead.runtimes.tool_wire import SERVER_NAME

# These tools only ask the person, through Fairlead, so no tier withholds them.
ASKING_TOOLS: Final = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode")

OutputFormat = Literal["stream-json", "text"]


class ClaudeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds are floats; 0 processes, or `multi_turn` off, means a process for each turn."""

    command: str = "claude"
    model: str = ""
    fallback_model: str = ""
    max_budget_usd: float | None = None
    append_system_prompt: str = ""
    output_format: OutputFormat = "stream-json"
    tools: tuple[str, ...] = FULL
    dangerously_skip_permissions: bool = False
    strict_mcp_config: bool = False
    mcp_config: str = ""
    debug_file: str = ""
    add_dirs: tuple[str, ...] = ()
    multi_turn: bool = True
    hang_timeout_sec: float = 60.0
    idle_timeout_sec: float = 300.0
    max_processes: int = 5
    session_scanning: bool = False
    extra_environment: tuple[str, ...] = ()
    check_mark: str = "fairlead-check:claude"
    own_tools: str = ""
    """The configuration of Fairlead's own tools; empty where they are off."""


class SessionChoice(msgspec.Struct, frozen=True):
    """Which of claude's own sessions: a new one under an id that we chose, or one that is resumed. A new one may begin
    as a copy of another."""

    key: str
    is_new: bool
    fork: ForkOrigin | None = None

    @property
    def begins_empty(self) -> bool:
        return self.is_new and self.fork is None

    def flags(self) -> tuple[str, ...]:
        if not self.is_new:
            return ("-r", self.key)
        return ("--session-id", self.key, *(_fork_flags(self.fork) if self.fork is not None else ()))


def _fork_flags(fork: ForkOrigin) -> tuple[str, ...]:
    at = ("--resume-session-at", fork.point) if fork.point else ()
    return ("--fork-session", *at, "-r", fork.key)


def shared_flags(
    settings: ClaudeSettings, policy: ToolPolicy, *, model: str, add_dirs: tuple[str, ...]
) -> tuple[str, ...]:
    return (
        *(("--model", model) if model else ()),
        *(("--dangerously-skip-permissions",) if settings.dangerously_skip_permissions else ()),
        *(("--strict-mcp-config",) if settings.strict_mcp_config else ()),
        *_mcp_config(settings),
        *(("--fallback-model", settings.fallback_model) if settings.fallback_model else ()),
        *(("--max-budget-usd", f"{settings.max_budget_usd:g}") if settings.max_budget_usd is not None else ()),
        *_system_prompt(settings),
        *(("--debug-file", settings.debug_file) if settings.debug_file else ()),
        *(part for directory in add_dirs for part in ("--add-dir", directory)),
        *("--tools", ",".join(policy.tools)),
    )


def _mcp_config(settings: ClaudeSettings) -> tuple[str, ...]:
    """Fairlead's own tools beside the person's; Fairlead itself decides about each call of them, so claude need not
    ask."""
    configs = tuple(config for config in (settings.mcp_config, settings.own_tools) if config)
    allowed = ("--allowedTools", f"mcp__{SERVER_NAME}") if settings.own_tools else ()
    return (*(("--mcp-config", *configs) if configs else ()), *allowed)


def _system_prompt(settings: ClaudeSettings) -> tuple[str, ...]:
    if not settings.append_system_prompt:
        return ()
    # Without the second flag claude resumes a session with the prompt it began with, and ignores a changed setting.
    return ("--append-system-prompt", settings.append_system_prompt, "--system-prompt-snapshot", "off")


def with_asking(policy: ToolPolicy) -> ToolPolicy:
    return msgspec.structs.replace(policy, tools=tuple(dict.fromkeys((*policy.tools, *ASKING_TOOLS))))


def one_shot(
    settings: ClaudeSettings,
    policy: ToolPolicy,
    session: SessionChoice,
    prompt: str,
    *,
    model: str = "",
    add_dirs: tuple[str, ...] = (),
    args: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """The prompt stands last, after `--`: it can be read neither as an option nor by a flag that takes many values."""
    is_stream = settings.output_format == "stream-json"
    output = ("--verbose", "--output-format", "stream-json", "--include-partial-messages")
    return (
        settings.command,
        "-p",
        *(output if is_stream else ("--output-format", "text")),
        *shared_flags(settings, policy, model=model, add_dirs=add_dirs),
        *args,
        *session.flags(),
        "--",
        prompt,
    )


def conversation(
    settings: ClaudeSettings,
    policy: ToolPolicy,
    *,
    model: str = "",
    add_dirs: tuple[str, ...] = (),
    args: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """A process that is talked to over its pipes. Its session comes last and apart: see `SessionChoice.flags`."""
    return (
        settings.command,
        "-p",
        "--verbose",
        *("--input-format", "stream-json", "--output-format", "stream-json"),
        "--include-partial-messages",
        "--replay-user-messages",
        *("--permission-prompt-tool", "stdio"),
        *shared_flags(settings, with_asking(policy), model=model, add_dirs=add_dirs),
        *args,
    )
