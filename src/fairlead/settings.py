"""Settings from the environment and `.env`. Every mistake is reported at once; no secret is ever shown."""

import json
import os
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast

from pydantic import AliasChoices, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from fairlead.core.identity import LOCAL_USER, Identities, IdentityDefaults, link_identities
from fairlead.core.keys import is_valid_part
from fairlead.core.limits import Limits
from fairlead.errors import Code, FairleadError, error

MAX_APPENDED_PROMPT: Final = 4000
ALL_TOOLS: Final = ("Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebSearch", "WebFetch")
"""The tools of an agent from which nothing is withheld: the default of RUNTIME_TOOLS, and the tier `full`."""
LEAST_HEARTBEAT_TIMEOUT_SEC: Final = 45.0
IDENTITY_DEFAULTS: Final = IdentityDefaults(numeric_channel="discord", owner_place=f"terminal:{LOCAL_USER}")
"""Discord gives out ids of digits alone, and the owner's known place is the terminal."""


def _alias_names(name: str, *aliases: str) -> AliasChoices:
    return AliasChoices(name, *aliases)


def _default_home() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "fairlead"


class Settings(BaseSettings):
    """Every setting of Fairlead. The reference prints each description."""

    model_config = SettingsConfigDict(env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True)

    # --- where things are
    state_dir: Path = Field(
        default_factory=lambda: _default_home() / "state",
        validation_alias="STATE_DIR",
        description="Where the journal, its snapshot, config.json, blobs and workspaces are kept.",
    )
    log_dir: Path = Field(
        default_factory=lambda: _default_home() / "logs",
        validation_alias="LOG_DIR",
        description="Where app.ndjson and the logs of the jobs are kept.",
    )

    # --- who is served
    agent_id: str = Field(
        "fairlead", validation_alias="FAIRLEAD_AGENT_ID", description="The agent's name in every session key."
    )
    discord_owner_id: str = Field(
        "",
        validation_alias=_alias_names("DISCORD_OWNER_ID", "DISCORD_ALLOWED_USER_ID"),
        description="The Discord user id of the owner. Required with DISCORD_TOKEN.",
    )
    allowed_user_ids: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        validation_alias="FAIRLEAD_ALLOWED_USER_IDS",
        description="Further people who are served: ids, separated by commas.",
    )
    identities: Annotated[dict[str, tuple[str, ...]], NoDecode] = Field(
        default_factory=dict,
        validation_alias="FAIRLEAD_IDENTITIES",
        description='Who is the same person: a JSON object such as {"1234": ["terminal:local", "http:alice"]}.',
    )
    strangers: Literal["answer", "silent"] = Field(
        "answer",
        validation_alias="FAIRLEAD_STRANGERS",
        description="Whether a stranger's slash command is answered with E_OWNER_ONLY, or not at all.",
    )
    lang: Literal["en", "ja", "zh-TW", "zh-CN"] = Field(
        "en",
        validation_alias="FAIRLEAD_LANG",
        description="The language for people whose own is not known; the terminal's too, before its locale.",
    )

    # --- projects
    projects: Annotated[tuple[str, ...], NoDecode] = Field(
        (), validation_alias="PROJECTS", description="Project directories: a JSON list of absolute paths."
    )
    project_root: str = Field(
        "", validation_alias="FAIRLEAD_PROJECT_ROOT", description="Every directory directly below it is a project."
    )

    # --- limits
    max_queue_per_session: int = Field(
        20,
        ge=1,
        validation_alias="FAIRLEAD_MAX_QUEUE_PER_SESSION",
        description="How many messages may wait in one session.",
    )
    global_max_running: int = Field(
        2, ge=1, validation_alias="FAIRLEAD_GLOBAL_MAX_RUNNING", description="How many jobs run at once, over all."
    )
    cli_timeout_sec: float = Field(
        900, gt=0, validation_alias="FAIRLEAD_CLI_TIMEOUT_SEC", description="How long one turn may take."
    )
    question_timeout_sec: float = Field(
        600,
        gt=0,
        validation_alias="FAIRLEAD_QUESTION_TIMEOUT_SEC",
        description="How long a question waits for a person; then it counts as no.",
    )
    drain_sec: float = Field(
        30, ge=0, validation_alias="FAIRLEAD_DRAIN_SEC", description="How long running jobs may finish at shutdown."
    )
    max_message_bytes: int = Field(
        4 * 1024 * 1024,
        ge=1024,
        validation_alias="FAIRLEAD_MAX_MESSAGE_BYTES",
        description="The longest message that is taken.",
    )
    max_result_excerpt_chars: int = Field(
        400,
        ge=0,
        validation_alias="FAIRLEAD_MAX_RESULT_EXCERPT_CHARS",
        description="How much of an answer the job's record keeps.",
    )
    snapshot_every_events: int = Field(
        50, ge=1, validation_alias="FAIRLEAD_SNAPSHOT_EVERY_EVENTS", description="A snapshot after so many events …"
    )
    snapshot_every_seconds: float = Field(
        5, gt=0, validation_alias="FAIRLEAD_SNAPSHOT_EVERY_SECONDS", description="… or after so many seconds."
    )

    # --- agents
    runtime_tools: Annotated[tuple[str, ...], NoDecode] = Field(
        ALL_TOOLS,
        validation_alias="RUNTIME_TOOLS",
        description="The tools an agent has where its workspace holds no PERMISSIONS.json: names, with commas.",
    )
    runtime_model: str = Field("", validation_alias="RUNTIME_MODEL", description="The model to ask Claude for.")
    runtime_fallback_model: str = Field(
        "", validation_alias="RUNTIME_FALLBACK_MODEL", description="The model when the first is overloaded (Claude)."
    )
    runtime_max_budget_usd: float | None = Field(
        None,
        gt=0,
        validation_alias="RUNTIME_MAX_BUDGET_USD",
        description="The most one agent process may spend (Claude).",
    )
    runtime_environment: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        validation_alias="FAIRLEAD_RUNTIME_ENVIRONMENT",
        description="Names of further variables that agents may see, with commas. Fairlead's own never reach them.",
    )
    claude_command: str = Field("claude", validation_alias="CLAUDE_COMMAND", description="The Claude Code program.")
    claude_output_format: Literal["stream-json", "text"] = Field(
        "stream-json",
        validation_alias="CLAUDE_OUTPUT_FORMAT",
        description="`text` only where the program is too old for stream-json.",
    )
    claude_append_system_prompt: str = Field(
        "",
        max_length=MAX_APPENDED_PROMPT,
        validation_alias="CLAUDE_APPEND_SYSTEM_PROMPT",
        description=f"Appended to Claude's system prompt; at most {MAX_APPENDED_PROMPT} characters.",
    )
    claude_dangerously_skip_permissions: bool = Field(
        False,
        validation_alias="CLAUDE_DANGEROUSLY_SKIP_PERMISSIONS",
        description="Claude asks for no permission at all. Only for machines that can be thrown away.",
    )
    claude_strict_mcp_config: bool = Field(
        False, validation_alias="CLAUDE_STRICT_MCP_CONFIG", description="Claude uses no MCP servers but those named."
    )
    claude_mcp_config: str = Field(
        "", validation_alias="CLAUDE_MCP_CONFIG", description="A file that names MCP servers for Claude."
    )
    claude_debug_file: str = Field(
        "", validation_alias="CLAUDE_DEBUG_FILE", description="Where Claude writes its debug log."
    )
    claude_add_dirs: Annotated[tuple[str, ...], NoDecode] = Field(
        (), validation_alias="CLAUDE_ADD_DIRS", description="Further directories Claude may work in: a JSON list."
    )
    multi_turn: bool = Field(
        True, validation_alias="FAIRLEAD_MULTI_TURN", description="Keep one Claude process per session alive."
    )
    multi_turn_hang_timeout_ms: int = Field(
        60000,
        ge=1,
        validation_alias="FAIRLEAD_MULTI_TURN_HANG_TIMEOUT_MS",
        description="A busy Claude process that is silent for so long is ended.",
    )
    multi_turn_idle_timeout_ms: int = Field(
        300000,
        ge=1,
        validation_alias="FAIRLEAD_MULTI_TURN_IDLE_TIMEOUT_MS",
        description="An idle Claude process is ended after so long.",
    )
    multi_turn_max_processes: int = Field(
        5, ge=1, validation_alias="FAIRLEAD_MULTI_TURN_MAX_PROCESSES", description="How many Claude processes may live."
    )
    session_scanning: bool = Field(
        False,
        validation_alias="FAIRLEAD_SESSION_SCANNING",
        description="Also read tool activity from Claude's own session log.",
    )
    codex_command: str = Field("codex", validation_alias="CODEX_COMMAND", description="The Codex program.")
    codex_model: str = Field("", validation_alias="CODEX_MODEL", description="The model to ask Codex for.")
    codex_sandbox: Literal["workspace-write", "danger-full-access"] = Field(
        "workspace-write",
        validation_alias="CODEX_SANDBOX",
        description="The sandbox of Codex in a tier that has the shell.",
    )
    gemini_command: str = Field("gemini", validation_alias="GEMINI_COMMAND", description="The Gemini CLI program.")
    gemini_model: str = Field("", validation_alias="GEMINI_CLI_MODEL", description="The model to ask Gemini for.")
    gemini_output: Literal["stream-json", "json"] = Field(
        "stream-json",
        validation_alias="GEMINI_OUTPUT",
        description="How Gemini prints: as it goes, or once at the end.",
    )

    # --- HTTP and the terminal
    http: bool = Field(True, validation_alias="FAIRLEAD_HTTP", description="Whether HTTP is served.")
    http_host: str = Field(
        "127.0.0.1", validation_alias="FAIRLEAD_HTTP_HOST", description="The address that HTTP listens on."
    )
    http_port: int = Field(
        8466, ge=0, le=65535, validation_alias="FAIRLEAD_HTTP_PORT", description="Its port; 0 takes a free one."
    )
    terminal_user: str = Field(
        "local", validation_alias="FAIRLEAD_USER", description="Who you are in `fairlead chat`; --user overrides it."
    )

    # --- Discord
    discord_token: SecretStr | None = Field(
        None,
        validation_alias=_alias_names("DISCORD_TOKEN", "DISCORD_BOT_TOKEN"),
        description="The bot's token. Without it Discord is off.",
    )
    discord_app_id: str = Field(
        "", validation_alias="DISCORD_APP_ID", description="The application's id. Empty: Fairlead asks Discord for it."
    )
    discord_guild_id: str = Field(
        "",
        validation_alias="DISCORD_GUILD_ID",
        description="Serve this server only, and register the commands there. Empty: all, and direct messages.",
    )
    discord_api_base: str = Field(
        "", validation_alias="DISCORD_API_BASE", description="Another address of Discord's REST API, for tests."
    )
    discord_gateway_url: str = Field(
        "", validation_alias="DISCORD_GATEWAY_URL", description="Another address of Discord's gateway, for tests."
    )
    discord_heartbeat_timeout_sec: float = Field(
        60,
        validation_alias="DISCORD_HEARTBEAT_TIMEOUT_SEC",
        description="A gateway that is silent for so long counts as gone, and Fairlead connects again. "
        f"At least {LEAST_HEARTBEAT_TIMEOUT_SEC:.0f}, because Discord's heartbeat comes every 41 s.",
    )
    discord_cdn_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        ("cdn.discordapp.com", "media.discordapp.net"),
        validation_alias="DISCORD_CDN_HOSTS",
        description="Hosts that attachments may be fetched from. A loopback address is also allowed without TLS.",
    )
    max_pieces: int = Field(
        5,
        ge=0,
        validation_alias="FAIRLEAD_MAX_PIECES",
        description="Answers longer than so many messages become head, tail and a file. 0: always split.",
    )
    status_edit_min_interval_ms: int = Field(
        1200,
        ge=100,
        validation_alias="FAIRLEAD_STATUS_EDIT_MIN_INTERVAL_MS",
        description="The least time between two edits of a status message.",
    )
    tool_aware_streaming: bool = Field(
        True,
        validation_alias="FAIRLEAD_TOOL_AWARE_STREAMING",
        description="Show what tools do while they run, then the clean answer. 0: show all text as it comes.",
    )
    catch_up_hours: float = Field(
        72,
        ge=0,
        validation_alias="FAIRLEAD_CATCH_UP_HOURS",
        description="Messages sent while nobody listened are answered if they are not older than this.",
    )
    catch_up_messages: int = Field(
        200,
        ge=0,
        validation_alias="FAIRLEAD_CATCH_UP_MESSAGES",
        description="At most so many of the newest messages are answered per conversation when catching up.",
    )
    reaction_emoji: str = Field(
        "🤖",
        validation_alias="FAIRLEAD_REACTION_EMOJI",
        description="This reaction on any message sends it to the agent. Empty: off.",
    )
    webhook_identity: bool = Field(
        False,
        validation_alias="FAIRLEAD_WEBHOOK_IDENTITY",
        description="Post answers in servers through a webhook, under the name of project and tool.",
    )

    @field_validator("allowed_user_ids", "discord_cdn_hosts", "runtime_tools", "runtime_environment", mode="before")
    @classmethod
    def _split_at_commas(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("state_dir", "log_dir")
    @classmethod
    def _make_absolute(cls, value: Path) -> Path:
        """No shell expands `~` in `.env`; and a later change of directory must not move the state."""
        return value.expanduser().absolute()

    @field_validator("identities")
    @classmethod
    def _check_identities(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        try:
            link_identities(value, IDENTITY_DEFAULTS)
        except FairleadError as mistake:
            raise ValueError(mistake.message.removeprefix("FAIRLEAD_IDENTITIES: ").rstrip(".")) from None
        return value

    @field_validator("agent_id", "terminal_user")
    @classmethod
    def _check_key_part(cls, value: str) -> str:
        if not is_valid_part(value):
            raise ValueError("must have 1 to 128 visible characters and no ':'")
        return value

    @field_validator("projects", "identities", "claude_add_dirs", mode="before")
    @classmethod
    def _decode_json(cls, value: Any, field: ValidationInfo) -> Any:
        """Decoded here and not by pydantic-settings, which would report only the first mistake."""
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value.strip() or ("{}" if field.field_name == "identities" else "[]"))
        except ValueError as fault:
            raise ValueError(f"is no JSON ({fault})") from None

    @field_validator("projects")
    @classmethod
    def _check_absolute(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        relative = [p for p in value if not p.startswith(("/", "~"))]
        if relative:
            raise ValueError(f"not absolute: {', '.join(relative)}")
        return value

    @field_validator("discord_token")
    @classmethod
    def _check_owner(cls, value: SecretStr | None, others: ValidationInfo) -> SecretStr | None:
        if value is None or not value.get_secret_value():
            return None
        if not others.data.get("discord_owner_id"):
            raise ValueError("is set, so DISCORD_OWNER_ID is needed too: it names whom the bot obeys")
        if not others.data["discord_owner_id"].isdecimal():
            raise ValueError("is set, so DISCORD_OWNER_ID must be a Discord user id, a number: nobody else is obeyed")
        return value

    @field_validator("discord_guild_id", "discord_app_id")
    @classmethod
    def _check_id(cls, value: str) -> str:
        if value and not value.isdecimal():
            raise ValueError("must be an id of Discord's, a number: with developer mode on, it is copied from the menu")
        return value

    @field_validator("discord_heartbeat_timeout_sec")
    @classmethod
    def _check_heartbeat_timeout(cls, value: float, others: ValidationInfo) -> float:
        """A quiet gateway says nothing between two heartbeats: with a shorter timeout every pause
        would end a healthy connection and use up the day's IDENTIFYs. Only the gateway of the tests beats faster."""
        least = 0.1 if others.data.get("discord_gateway_url") else LEAST_HEARTBEAT_TIMEOUT_SEC
        if not value >= least:
            raise ValueError(
                f"is {value:g} and must be at least {least:g}: Discord's heartbeat comes every 41 s, and a connection "
                "that is quiet in between would be given up again and again"
            )
        return value

    def people(self) -> Identities:
        return link_identities(self.identities, IDENTITY_DEFAULTS, owner_id=self.discord_owner_id)

    def person_with(self, discord_id: str) -> str:
        """The person with this Discord id, after FAIRLEAD_IDENTITIES; settings name people by Discord id."""
        return self.people().person_of(IDENTITY_DEFAULTS.numeric_channel, discord_id) if discord_id else ""

    def limits(self, runtimes: tuple[str, ...]) -> Limits:
        return Limits(
            agent_id=self.agent_id,
            allowed_people=tuple(map(self.person_with, self.allowed_user_ids)),
            runtimes=runtimes,
            max_queue_per_session=self.max_queue_per_session,
            global_max_running=self.global_max_running,
            max_message_bytes=self.max_message_bytes,
            max_result_excerpt_chars=self.max_result_excerpt_chars,
            question_timeout_sec=self.question_timeout_sec,
        )

    def secrets(self) -> list[str]:
        """Values that must never reach a log, a message or a child process."""
        token = self.discord_token
        return [token.get_secret_value()] if token is not None else []


def load_settings(**overrides: Any) -> Settings:
    """The settings, or one error that names every mistake. Values are not repeated: one may be a secret."""
    try:
        return Settings(**overrides)
    except ValidationError as mistakes:
        listed = "\n".join(f"  {_name_of(m['loc'])}: {_strip_prefix(m['msg'])}." for m in mistakes.errors())
        raise error(
            Code.E_CONFIG,
            f"The settings are wrong:\n{listed}\n",
            next_step="Correct them in the environment or in .env; .env.example explains each.",
        ) from None
    except Exception as mistake:  # pydantic raises many kinds for values and files that it cannot read
        raise error(
            Code.E_CONFIG,
            f"The settings cannot be read: {mistake}.",
            next_step=f"Correct them in the environment or in {Path('.env').absolute()}; .env.example explains each.",
        ) from None


def _name_of(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "settings"


def _strip_prefix(message: str) -> str:
    return message.removeprefix("Value error, ").rstrip(".")


def setting_names() -> dict[str, tuple[str, str, str]]:
    """Every setting's name with its aliases, default and description, for the reference and `.env.example`."""
    listed: dict[str, tuple[str, str, str]] = {}
    for field in Settings.model_fields.values():
        alias = field.validation_alias
        names = [str(c) for c in alias.choices] if isinstance(alias, AliasChoices) else [str(alias)]
        listed[names[0]] = (", ".join(names[1:]), _describe_default(field), field.description or "")
    return listed


def _describe_default(field: Any) -> str:
    if field.default_factory is not None and field.validation_alias in {"STATE_DIR", "LOG_DIR"}:
        return f"~/.local/state/fairlead/{'state' if field.validation_alias == 'STATE_DIR' else 'logs'}"
    value = field.get_default(call_default_factory=True)
    if value is None or value in ((), {}, ""):
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, tuple):
        return ",".join(map(str, cast("tuple[object, ...]", value)))
    return str(value) if isinstance(value, str | int | float) else json.dumps(value)
