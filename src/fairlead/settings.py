"""Settings from the environment and the settings file. Every mistake is reported at once; no secret is ever shown."""

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, cast

from fairlead.core.agent_tools import TOOL_NAMES
from fairlead.core.days import Days
from fairlead.core.identity import Identities, link_identities
from fairlead.core.limits import Limits
from fairlead.core.ping_rule import LONG_TURN_SEC, Ping, PingRule
from fairlead.errors import Code, error
from fairlead.kit.capacity import read_machine_size
from fairlead.kit.local_zone import load_zone
from fairlead.settings_checks import (
    IDENTITY_DEFAULTS,
    LEAST_HEARTBEAT_TIMEOUT_SEC,
    check_absolute,
    check_addresses,
    check_agent_tools,
    check_command,
    check_heartbeat_timeout,
    check_host_names,
    check_id,
    check_identities,
    check_key_part,
    check_listen,
    check_nats_urls,
    check_owner,
    check_time_zone,
    make_absolute,
)
from fairlead.settings_file import advise_correction, find_settings_file, read_sources
from fairlead.settings_values import Secret, SettingRules, default_of, read_values, rules_of, setting

MAX_APPENDED_PROMPT: Final = 4000
ALL_TOOLS: Final = ("Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebSearch", "WebFetch")
"""The tools of an agent from which nothing is withheld: the default of RUNTIME_TOOLS, and the tier `full`."""
OWN_VARIABLES: Final = ("DISCORD_", "FAIRLEAD_")
"""Prefixes of Fairlead's own variables. No agent sees them: an agent that has the bot's token can act as the bot."""
OPEN_HTTP_ADVICE: Final = (
    "Without TLS, anyone who can read the network traffic can get the token and act as you. Use a private network or a "
    "reverse proxy with TLS in front of FAIRLEAD_HTTP_HOST=127.0.0.1 (docs/security.md)."
)
_DEFAULT_LIMITS: Final = Limits()


def _default_home() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "fairlead"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """Every setting of Fairlead. The reference prints each description."""

    # --- where things are
    state_dir: Path = setting(
        default_factory=lambda: _default_home() / "state",
        name="STATE_DIR",
        description="Where the journal, its snapshot, config.json, blobs and workspaces are kept.",
        check=make_absolute,
        shown_default="~/.local/state/fairlead/state",
    )
    log_dir: Path = setting(
        default_factory=lambda: _default_home() / "logs",
        name="LOG_DIR",
        description="Where app.ndjson and the logs of the jobs are kept.",
        check=make_absolute,
        shown_default="~/.local/state/fairlead/logs",
    )

    worktree_dir: str = setting(
        "",
        name="FAIRLEAD_WORKTREE_DIR",
        description="Where the git worktrees of sessions are made; empty: `worktrees` in STATE_DIR.",
    )

    # --- other machines
    machines: bool = setting(
        default=False,
        name="FAIRLEAD_MACHINES",
        description="Whether agents may work on other machines. Fairlead then starts a nats-server of its own, unless "
        "FAIRLEAD_NATS_URL names one.",
    )
    nats_url: tuple[str, ...] = setting(
        (),
        name="FAIRLEAD_NATS_URL",
        description="A NATS server, or the servers of a cluster, that somebody else runs: tls://, wss:// or, in a "
        "private network, nats:// addresses, separated by commas. Other machines must reach the same addresses.",
        form="commas",
        check=check_nats_urls,
    )
    machines_listen: str = setting(
        "0.0.0.0:4222",
        name="FAIRLEAD_MACHINES_LISTEN",
        description="Where Fairlead's own nats-server listens, with TLS.",
        check=check_listen,
    )
    machines_websocket: int = setting(
        0,
        name="FAIRLEAD_MACHINES_WEBSOCKET",
        description="The port on which it also listens for WebSocket connections, with TLS; 0: none.",
        at_least=0,
        at_most=65535,
    )
    machines_address: tuple[str, ...] = setting(
        (),
        name="FAIRLEAD_MACHINES_ADDRESS",
        description="How other machines reach it: names or addresses with a port, separated by commas. If not set, the "
        "address of this machine in its network.",
        form="commas",
    )
    runner_dir: Path = setting(
        default_factory=lambda: _default_home() / "runner",
        name="FAIRLEAD_RUNNER_DIR",
        description="Where a runner keeps its key, its journal and its workspaces, on a machine that has joined.",
        check=make_absolute,
        shown_default="~/.local/state/fairlead/runner",
    )

    # --- who is served
    agent_id: str = setting(
        "fairlead",
        name="FAIRLEAD_AGENT_ID",
        description="The name of this Fairlead in every session key.",
        check=check_key_part,
    )
    discord_owner_id: str = setting(
        "",
        name="DISCORD_OWNER_ID",
        aliases=("DISCORD_ALLOWED_USER_ID",),
        description="The Discord user id of the owner. Required with DISCORD_TOKEN.",
    )
    allowed_user_ids: tuple[str, ...] = setting(
        (),
        name="FAIRLEAD_ALLOWED_USER_IDS",
        description="Other people who may use Fairlead: their ids, separated by commas.",
        form="commas",
    )
    identities: dict[str, tuple[str, ...]] = setting(
        default_factory=dict,
        name="FAIRLEAD_IDENTITIES",
        description='Accounts of the same person, a JSON object such as {"1234": ["terminal:local", "http:alice"]}.',
        form="json",
        example='{"1234": ["http:alice"]}',
        check=check_identities,
    )
    strangers: Literal["answer", "silent"] = setting(
        "answer",
        name="FAIRLEAD_STRANGERS",
        description="Whether slash commands of other people are answered with E_OWNER_ONLY, or ignored.",
    )
    lang: Literal["en", "ja", "zh-TW", "zh-CN"] = setting(
        "en",
        name="FAIRLEAD_LANG",
        description="The language for people whose language is unknown. In the terminal it overrides the locale.",
    )
    time_zone: str = setting(
        "",
        name="FAIRLEAD_TIME_ZONE",
        description="The time zone of the owner, such as Europe/Berlin: of the days by which budgets count, and of "
        "schedules that name none. If not set, that of the machine.",
        check=check_time_zone,
    )

    # --- projects
    projects: tuple[str, ...] = setting(
        (),
        name="PROJECTS",
        description="Project directories: a JSON list of absolute paths.",
        form="json",
        example='["/home/me/app"]',
        check=check_absolute,
    )
    project_root: str = setting(
        "", name="FAIRLEAD_PROJECT_ROOT", description="A directory whose direct subdirectories are all projects."
    )

    # --- limits
    max_queue_per_session: int = setting(
        _DEFAULT_LIMITS.max_queue_per_session,
        at_least=1,
        name="FAIRLEAD_MAX_QUEUE_PER_SESSION",
        description="The maximum number of queued messages per session.",
    )
    spawn_threads: bool = setting(
        _DEFAULT_LIMITS.spawn_threads,
        name="FAIRLEAD_SPAWN_THREADS",
        description="Whether a spawned session gets a thread of its own, where the channel has threads: its completion "
        "goes there and only there, and the conversation that asked gets the link. 0: the completion returns to "
        "the person or the agent that asked.",
    )
    spawn_fail_closed: bool = setting(
        _DEFAULT_LIMITS.spawn_fail_closed,
        name="FAIRLEAD_SPAWN_FAIL_CLOSED",
        description="If the thread of a spawned session is no longer bound to it, its completion goes nowhere and is "
        "recorded as undeliverable. 0: it falls back, visibly, to the conversation that asked.",
    )
    spawn_binding_ttl_sec: float = setting(
        _DEFAULT_LIMITS.spawn_binding_ttl_sec,
        at_least=0,
        name="FAIRLEAD_SPAWN_BINDING_TTL_SEC",
        description="A spawned session is bound to its thread until nothing was posted there for N seconds; choose "
        "more than your longest task takes. 0: for good.",
    )
    spawn_max_depth: int = setting(
        _DEFAULT_LIMITS.spawn_max_depth,
        at_least=0,
        name="FAIRLEAD_SPAWN_MAX_DEPTH",
        description="How deep sessions may spawn sessions. 0: not at all.",
    )
    spawn_max_children: int = setting(
        _DEFAULT_LIMITS.spawn_max_children,
        at_least=1,
        name="FAIRLEAD_SPAWN_MAX_CHILDREN",
        description="The maximum number of spawned sessions of one session that are at work at the same time.",
    )
    spawn_max_in_a_row: int = setting(
        _DEFAULT_LIMITS.spawn_max_in_a_row,
        at_least=0,
        name="FAIRLEAD_SPAWN_MAX_IN_A_ROW",
        description="The maximum number of sessions that agents may spawn, a session and all below it together, until "
        "a person speaks there again.",
    )
    global_max_running: int = setting(
        default_factory=lambda: read_machine_size().agents_that_fit(),
        at_least=1,
        name="FAIRLEAD_GLOBAL_MAX_RUNNING",
        description="The maximum number of jobs that run at the same time, over all sessions. "
        "If not set, the number depends on the cores and the free memory at the start; `fairlead doctor` says which.",
        shown_default="",
    )
    cli_timeout_sec: float = setting(
        900, above=0, name="FAIRLEAD_CLI_TIMEOUT_SEC", description="Timeout of one turn, in seconds."
    )
    question_timeout_sec: float = setting(
        _DEFAULT_LIMITS.question_timeout_sec,
        above=0,
        name="FAIRLEAD_QUESTION_TIMEOUT_SEC",
        description="Timeout of a question or permission, in seconds; after that the answer is no.",
    )
    drain_sec: float = setting(
        30, at_least=0, name="FAIRLEAD_DRAIN_SEC", description="Seconds for running jobs to finish at shutdown."
    )
    max_message_bytes: int = setting(
        _DEFAULT_LIMITS.max_message_bytes,
        at_least=1024,
        name="FAIRLEAD_MAX_MESSAGE_BYTES",
        description="The maximum size of a message, in bytes.",
    )
    max_result_excerpt_chars: int = setting(
        _DEFAULT_LIMITS.max_result_excerpt_chars,
        at_least=0,
        name="FAIRLEAD_MAX_RESULT_EXCERPT_CHARS",
        description="The maximum length of the answer's excerpt in the job's record, in characters.",
    )
    tree_snapshots: bool = setting(
        True,
        name="FAIRLEAD_TREE_SNAPSHOTS",
        description="Snapshots of a project's files, by git, at the start and the end of each turn: `/changes` and "
        "`/undo` need it. 0 turns it off.",
    )
    tree_snapshot_sec: float = setting(
        10.0,
        above=0,
        name="FAIRLEAD_TREE_SNAPSHOT_SEC",
        description="How long a turn waits for the snapshot at its start; after that it goes on, and cannot be undone.",
    )
    tree_file_max_bytes: int = setting(
        25 * 1024 * 1024,
        at_least=1,
        name="FAIRLEAD_TREE_FILE_MAX_BYTES",
        description="A larger file is named in `/changes`, but is in no snapshot.",
    )
    tree_new_max_bytes: int = setting(
        1024 * 1024 * 1024,
        at_least=1,
        name="FAIRLEAD_TREE_NEW_MAX_BYTES",
        description="The most that one snapshot may store: a project with more files has none, until it has fewer.",
    )
    snapshot_every_events: int = setting(
        50, at_least=1, name="FAIRLEAD_SNAPSHOT_EVERY_EVENTS", description="Write a snapshot every N events."
    )
    snapshot_every_seconds: float = setting(
        5, above=0, name="FAIRLEAD_SNAPSHOT_EVERY_SECONDS", description="Write a snapshot every N seconds."
    )

    # --- schedules
    schedules_for: Literal["owner", "allowed"] = setting(
        _DEFAULT_LIMITS.schedules_for,
        name="FAIRLEAD_SCHEDULES_FOR",
        description="Who may make schedules. `owner`: the owner alone. `allowed`: everybody in "
        "FAIRLEAD_ALLOWED_USER_IDS too.",
    )
    schedule_missed: Literal["run", "skip"] = setting(
        "run",
        name="FAIRLEAD_SCHEDULE_MISSED",
        description="What a new schedule does about times at which Fairlead was not running. `run`: one run later for "
        "all of them. `skip`: nothing.",
    )
    schedule_check_sec: float = setting(
        60,
        above=0,
        name="FAIRLEAD_SCHEDULE_CHECK_SEC",
        description="The time limit of the command that decides whether a schedule runs, in seconds.",
    )

    # --- agents
    agent_command: tuple[str, ...] = setting(
        (),
        name="AGENT_COMMAND",
        description="The default agent of the Agent Client Protocol (ACP): a JSON list such as "
        '["goose", "acp"]. Empty: the first of claude-agent-acp, claude-code-acp on PATH.',
        form="json",
        example='["goose", "acp"]',
        check=check_command,
    )
    agent_watchdog_sec: float = setting(
        1800,
        above=0,
        name="FAIRLEAD_AGENT_WATCHDOG_SEC",
        description="Seconds until an ACP agent that sends no update during a turn is ended.",
    )
    agent_registry: str = setting(
        "",
        name="FAIRLEAD_AGENT_REGISTRY",
        description="The index of an ACP registry, for `fairlead agent`: a URL or a file. "
        "Empty: only agents that Fairlead knows by name are found, in npm and PyPI.",
    )
    runtime_tools: tuple[str, ...] = setting(
        ALL_TOOLS,
        name="RUNTIME_TOOLS",
        description="The tools of an agent whose workspace has no PERMISSIONS.json: names, separated by commas.",
        form="commas",
    )
    runtime_model: str = setting("", name="RUNTIME_MODEL", description="The model to ask Claude for.")
    runtime_fallback_model: str = setting(
        "", name="RUNTIME_FALLBACK_MODEL", description="The model when the first is overloaded (Claude)."
    )
    runtime_max_budget_usd: float | None = setting(
        None,
        above=0,
        name="RUNTIME_MAX_BUDGET_USD",
        description="The most that one Claude process may spend, in US dollars.",
    )
    runtime_environment: tuple[str, ...] = setting(
        (),
        name="FAIRLEAD_RUNTIME_ENVIRONMENT",
        description="Names of other environment variables that agents get, separated by commas. Never Fairlead's own.",
        form="commas",
    )
    agent_tools: tuple[str, ...] = setting(
        TOOL_NAMES,
        name="FAIRLEAD_AGENT_TOOLS",
        description="The tools that Fairlead itself offers to agents, separated by commas; `none`: no tools. "
        "A project's PERMISSIONS.json may withhold some of them.",
        form="commas",
        check=check_agent_tools,
    )
    agent_calls_per_minute: int = setting(
        30,
        at_least=1,
        name="FAIRLEAD_AGENT_CALLS_PER_MINUTE",
        description="How often the agent of one session may call those tools within a minute.",
    )
    agent_file_max_bytes: int = setting(
        10 * 1024 * 1024,
        at_least=1,
        name="FAIRLEAD_AGENT_FILE_MAX_BYTES",
        description="The maximum size of a file that an agent sends, in bytes. Discord takes 10 MiB.",
    )
    agent_user: str = setting(
        "",
        name="FAIRLEAD_AGENT_USER",
        description="Run agents as this user of the machine, with its own login and home. Needs a sudo rule, "
        "which `fairlead doctor` names, or a Fairlead that runs as root.",
    )
    agent_sandbox: Literal["", "bwrap"] = setting(
        "",
        name="FAIRLEAD_AGENT_SANDBOX",
        description="`bwrap`: run agents in a bubblewrap sandbox that shows them their project, the files they "
        "were sent and their own login, and neither Fairlead's state nor the rest of the home directory.",
    )
    agent_sandbox_paths: tuple[str, ...] = setting(
        (),
        name="FAIRLEAD_AGENT_SANDBOX_PATHS",
        description="Other paths that agents in the sandbox may read and write, separated by commas.",
        form="commas",
    )
    claude_command: str = setting("claude", name="CLAUDE_COMMAND", description="The Claude Code program.")
    claude_output_format: Literal["stream-json", "text"] = setting(
        "stream-json",
        name="CLAUDE_OUTPUT_FORMAT",
        description="Use `text` only if the program is too old for stream-json.",
    )
    claude_append_system_prompt: str = setting(
        "",
        longest=MAX_APPENDED_PROMPT,
        name="CLAUDE_APPEND_SYSTEM_PROMPT",
        description=f"Appended to Claude's system prompt; at most {MAX_APPENDED_PROMPT} characters.",
    )
    claude_dangerously_skip_permissions: bool = setting(
        False,
        name="CLAUDE_DANGEROUSLY_SKIP_PERMISSIONS",
        description="Skip all of Claude's permission prompts. Use only on disposable machines.",
    )
    claude_strict_mcp_config: bool = setting(
        False, name="CLAUDE_STRICT_MCP_CONFIG", description="Claude uses only the MCP servers of CLAUDE_MCP_CONFIG."
    )
    claude_mcp_config: str = setting(
        "", name="CLAUDE_MCP_CONFIG", description="A configuration file with MCP servers for Claude."
    )
    claude_debug_file: str = setting("", name="CLAUDE_DEBUG_FILE", description="Where Claude writes its debug log.")
    claude_add_dirs: tuple[str, ...] = setting(
        (),
        name="CLAUDE_ADD_DIRS",
        description="Other directories that Claude may work in: a JSON list.",
        form="json",
        example='["/home/me/docs"]',
    )
    multi_turn: bool = setting(
        True, name="FAIRLEAD_MULTI_TURN", description="Keep one Claude process per session alive."
    )
    multi_turn_hang_timeout_ms: int = setting(
        60000,
        at_least=1,
        name="FAIRLEAD_MULTI_TURN_HANG_TIMEOUT_MS",
        description="Milliseconds until a busy Claude process that prints nothing is ended.",
    )
    multi_turn_idle_timeout_ms: int = setting(
        300000,
        at_least=1,
        name="FAIRLEAD_MULTI_TURN_IDLE_TIMEOUT_MS",
        description="Milliseconds until an idle process of a long-lived agent (Claude, ACP agents) is ended.",
    )
    multi_turn_max_processes: int = setting(
        5,
        at_least=1,
        name="FAIRLEAD_MULTI_TURN_MAX_PROCESSES",
        description="The maximum number of processes of long-lived agents (Claude, ACP agents). "
        "If more are needed, the one that was idle for longest is ended. If not set, one for every job "
        "that may run, and more (up to 64) as long as a quarter of the machine's memory is free.",
        shown_default="",
    )
    session_scanning: bool = setting(
        False,
        name="FAIRLEAD_SESSION_SCANNING",
        description="Also read tool activity from Claude's own session log.",
    )
    codex_command: str = setting("codex", name="CODEX_COMMAND", description="The Codex program.")
    codex_model: str = setting("", name="CODEX_MODEL", description="The model to ask Codex for.")
    codex_sandbox: Literal["workspace-write", "danger-full-access"] = setting(
        "workspace-write",
        name="CODEX_SANDBOX",
        description="The sandbox of Codex in a permission tier with a shell.",
    )
    gemini_command: str = setting("gemini", name="GEMINI_COMMAND", description="The Gemini CLI program.")
    gemini_model: str = setting("", name="GEMINI_CLI_MODEL", description="The model to ask Gemini for.")
    gemini_output: Literal["stream-json", "json"] = setting(
        "stream-json",
        name="GEMINI_OUTPUT",
        description="How Gemini prints its output: as it works (stream-json), or once at the end (json).",
    )

    # --- HTTP and the terminal
    http: bool = setting(True, name="FAIRLEAD_HTTP", description="Whether the HTTP server is on.")
    http_host: str = setting("127.0.0.1", name="FAIRLEAD_HTTP_HOST", description="The address that HTTP listens on.")
    http_port: int = setting(
        8466, at_least=0, at_most=65535, name="FAIRLEAD_HTTP_PORT", description="The HTTP port; 0: a free one."
    )
    http_allowed_hosts: tuple[str, ...] = setting(
        (),
        name="FAIRLEAD_HTTP_ALLOWED_HOSTS",
        description="Other host names that HTTP requests may use, separated by commas: the name in a private network "
        "or of a reverse proxy, such as fairlead.example.org.",
        form="commas",
        check=check_host_names,
    )
    http_proxies: tuple[str, ...] = setting(
        (),
        name="FAIRLEAD_HTTP_PROXIES",
        description="The addresses of reverse proxies, separated by commas, such as 127.0.0.1. Only of these are "
        "X-Forwarded-Proto and X-Forwarded-For believed.",
        form="commas",
        check=check_addresses,
    )
    hook_events_per_minute: int = setting(
        _DEFAULT_LIMITS.hook_events_per_minute,
        at_least=1,
        name="FAIRLEAD_HOOK_EVENTS_PER_MINUTE",
        description="The maximum number of new events that one webhook takes in a minute.",
    )
    http_timeout_sec: float = setting(
        30,
        above=0,
        name="FAIRLEAD_HTTP_TIMEOUT_SEC",
        description="Timeout for receiving a complete request, in seconds. Answers may take longer.",
    )
    terminal_user: str = setting(
        "local",
        name="FAIRLEAD_USER",
        description="Your user id in `fairlead chat`; --user overrides it.",
        check=check_key_part,
    )
    bell: Literal["needed", "always", "never"] = setting(
        "needed",
        name="FAIRLEAD_BELL",
        description="When `fairlead chat` rings the terminal's bell: `needed`, when an agent asks something and at the "
        "end of a turn of ten seconds or more; `always`, also at the end of every other turn; `never`.",
    )

    # --- Discord
    discord_token: Secret | None = setting(
        None,
        name="DISCORD_TOKEN",
        aliases=("DISCORD_BOT_TOKEN",),
        description="The bot's token. Without it Discord is off.",
        check=check_owner,
    )
    discord_app_id: str = setting(
        "",
        name="DISCORD_APP_ID",
        description="The application's id. Empty: Fairlead asks Discord for it.",
        check=check_id,
    )
    discord_guild_id: str = setting(
        "",
        name="DISCORD_GUILD_ID",
        description="Use this server only, and register the commands there. Empty: all servers, and direct messages.",
        check=check_id,
    )
    discord_api_base: str = setting(
        "", name="DISCORD_API_BASE", description="The address of Discord's REST API. Only tests change it."
    )
    discord_gateway_url: str = setting(
        "", name="DISCORD_GATEWAY_URL", description="The address of Discord's gateway. Only tests change it."
    )
    discord_heartbeat_timeout_sec: float = setting(
        60,
        name="DISCORD_HEARTBEAT_TIMEOUT_SEC",
        description="Timeout for a silent gateway connection, in seconds. Fairlead then reconnects. "
        f"At least {LEAST_HEARTBEAT_TIMEOUT_SEC:.0f}, because Discord's heartbeat comes every 41 s.",
        check=check_heartbeat_timeout,
    )
    discord_cdn_hosts: tuple[str, ...] = setting(
        ("cdn.discordapp.com", "media.discordapp.net"),
        name="DISCORD_CDN_HOSTS",
        description="Hosts that attachments may be fetched from. A loopback address is also allowed without TLS.",
        form="commas",
    )
    ping: Ping = setting(
        "done",
        name="FAIRLEAD_PING",
        description="When Discord mentions the person who asked. `needed`: a question or a failure. `done`: also the "
        "end of a long turn. `never`: no mentions.",
    )
    ping_after_sec: float = setting(
        LONG_TURN_SEC,
        at_least=0,
        name="FAIRLEAD_PING_AFTER_SEC",
        description="A turn that takes longer than N seconds is a long turn (see FAIRLEAD_PING).",
    )
    remind_after_sec: float = setting(
        120,
        at_least=0,
        name="FAIRLEAD_REMIND_AFTER_SEC",
        description="A question on Discord that is still open after N seconds is also sent to the owner as a direct "
        "message. 0: never.",
    )
    max_pieces: int = setting(
        5,
        at_least=0,
        name="FAIRLEAD_MAX_PIECES",
        description="Answers longer than N messages are sent as beginning, end and a file. 0: always split.",
    )
    status_edit_min_interval_ms: int = setting(
        1200,
        at_least=100,
        name="FAIRLEAD_STATUS_EDIT_MIN_INTERVAL_MS",
        description="The minimum time between two edits of a status message, in milliseconds.",
    )
    tool_aware_streaming: bool = setting(
        True,
        name="FAIRLEAD_TOOL_AWARE_STREAMING",
        description="Show what tools do while they run, then the clean answer. 0: show all text as it comes.",
    )
    catch_up_hours: float = setting(
        72,
        at_least=0,
        name="FAIRLEAD_CATCH_UP_HOURS",
        description="Messages sent while Fairlead was offline are answered if they are not older than N hours.",
    )
    catch_up_messages: int = setting(
        200,
        at_least=0,
        name="FAIRLEAD_CATCH_UP_MESSAGES",
        description="After Fairlead was offline, at most the newest N messages per conversation are answered.",
    )
    reaction_emoji: str = setting(
        "🤖",
        name="FAIRLEAD_REACTION_EMOJI",
        description="This reaction on any message sends it to the agent. Empty: off.",
    )
    webhook_identity: bool = setting(
        False,
        name="FAIRLEAD_WEBHOOK_IDENTITY",
        description="Post answers in servers through a webhook, under the name of project and agent.",
    )

    given: frozenset[str] = dataclasses.field(default=frozenset(), compare=False)
    """The fields that somebody set; the others have their defaults."""

    def replace(self, **changes: Any) -> "Settings":
        return dataclasses.replace(self, **changes)

    def people(self) -> Identities:
        return link_identities(self.identities, IDENTITY_DEFAULTS, owner_id=self.discord_owner_id)

    def ping_rule(self) -> PingRule:
        return PingRule(self.ping, self.ping_after_sec)

    def person_with(self, discord_id: str) -> str:
        """The person with this Discord id, after FAIRLEAD_IDENTITIES; settings name people by Discord id."""
        return self.people().person_of(IDENTITY_DEFAULTS.numeric_channel, discord_id) if discord_id else ""

    def pool_size(self) -> int:
        """A pool smaller than what may run makes jobs wait for each other's processes, so somebody must ask for it."""
        if "multi_turn_max_processes" in self.given:
            return self.multi_turn_max_processes
        return max(self.multi_turn_max_processes, self.global_max_running)

    def has_room_to_keep(self, agents: int) -> bool:
        """Whether so many long-lived agents may stay, though there are more than `pool_size`: starting an agent again
        costs its conversation seconds, and an idle one costs memory alone."""
        return "multi_turn_max_processes" not in self.given and read_machine_size().has_room_to_keep(agents)

    def limits(self, runtimes: tuple[str, ...]) -> Limits:
        return Limits(
            agent_id=self.agent_id,
            allowed_people=tuple(map(self.person_with, self.allowed_user_ids)),
            runtimes=runtimes,
            own_variables=OWN_VARIABLES,
            max_queue_per_session=self.max_queue_per_session,
            global_max_running=self.global_max_running,
            max_message_bytes=self.max_message_bytes,
            max_result_excerpt_chars=self.max_result_excerpt_chars,
            question_timeout_sec=self.question_timeout_sec,
            spawn_threads=self.spawn_threads,
            spawn_fail_closed=self.spawn_fail_closed,
            spawn_binding_ttl_sec=self.spawn_binding_ttl_sec,
            spawn_max_depth=self.spawn_max_depth,
            spawn_max_children=self.spawn_max_children,
            spawn_max_in_a_row=self.spawn_max_in_a_row,
            hook_events_per_minute=self.hook_events_per_minute,
            days=Days(load_zone(self.time_zone) if self.time_zone else None),
            schedules_for=self.schedules_for,
            worktrees=str(self.worktrees_path),
        )

    @property
    def worktrees_path(self) -> Path:
        """Absolute, with links resolved: git names worktrees by their real paths."""
        named = Path(self.worktree_dir).expanduser() if self.worktree_dir else self.state_dir / "worktrees"
        return named.resolve()

    def secrets(self) -> list[str]:
        """Values that must never reach a log, a message or a child process."""
        token = self.discord_token
        return [token.reveal()] if token is not None else []


def load_settings(**overrides: str) -> Settings:
    """The settings, or one error that names every mistake. `overrides` are texts by the settings' names; an empty one
    hides what the environment and the file say."""
    return read_settings(find_settings_file().path, overrides)


def read_settings(file: Path | None, overrides: Mapping[str, str] | None = None) -> Settings:
    """As `load_settings`, from this file or none. Values are not repeated in mistakes: one may be a secret."""
    hidden = {name for name, text in (overrides or {}).items() if not text}
    sources = [overrides or {}, *({n: t for n, t in s.items() if n not in hidden} for s in read_sources(file))]
    values, mistakes = read_values(Settings, sources)
    if mistakes:
        listed = "\n".join(f"  {mistake}" for mistake in mistakes)
        raise error(Code.E_CONFIG, f"The settings are wrong:\n{listed}\n", next_step=advise_correction(file))
    return Settings(**values, given=frozenset(values))


def all_setting_names() -> list[str]:
    """Every name that is read, aliases included."""
    return [each for rules in rules_of(Settings).values() for each in rules.names]


def setting_names() -> dict[str, tuple[str, str, str]]:
    """Every setting's name with its aliases, default and description, for the reference and `.env.example`."""
    return {
        rules.name: (", ".join(rules.aliases), _describe_default(field_name, rules), rules.description)
        for field_name, rules in rules_of(Settings).items()
    }


def _describe_default(field_name: str, rules: SettingRules) -> str:
    if rules.shown_default is not None:
        return rules.shown_default
    value = default_of(Settings, field_name)
    if value is None or value in ((), {}, ""):
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, tuple):
        return ",".join(map(str, cast("tuple[object, ...]", value)))
    return str(value) if isinstance(value, str | int | float) else json.dumps(value)
