"""Codex as a runtime: its command line, its sandbox for a tier, its totals. Knows nothing of its events."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec

from fairlead.core.engine import Invocation
from fairlead.errors import Code, error
from fairlead.kit.files import read_regular
from fairlead.ports import JobLogs, RuntimeCapabilities, RuntimeHealth, SessionRecords
from fairlead.runtimes.checks import KnownGood, Login, check_program
from fairlead.runtimes.cli_turn import CliCommand
from fairlead.runtimes.codex import wire
from fairlead.runtimes.codex.translate import CodexTranslator, total_in_rollout
from fairlead.runtimes.comma_free import comma_free_files
from fairlead.runtimes.environment import child_environment, withheld_names
from fairlead.runtimes.images import split_images
from fairlead.runtimes.per_turn import PerTurnRuntime, Prepared
from fairlead.runtimes.prompts import compose
from fairlead.runtimes.records.codex import CodexRecords, codex_home
from fairlead.runtimes.tool_policy import FULL, ToolPolicy, read_tool_policy
from fairlead.runtimes.tool_server import COMMAND, NO_TOOLS, ToolGrant, ToolServer
from fairlead.runtimes.tool_wire import GRANT_VARIABLE, SERVER_NAME
from fairlead.runtimes.workspace import read_context

STARTUP_SEC: Final = 30
MOST_CHARACTERS: Final = 1_048_576
KNOWN_GOOD: Final = KnownGood((0, 150, 0), (0, 166, 99))
LOGIN: Final = Login(
    ("OPENAI_API_KEY", "CODEX_API_KEY"), (".codex/auth.json", ".codex/config.toml"), "Run `codex login`."
)
_OWN: Final = ("OPENAI_", "CODEX_")

Sandbox = Literal["read-only", "workspace-write", "danger-full-access"]


class CodexSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`widest_sandbox` is what a tier with the shell gets."""

    command: str = "codex"
    model: str = ""
    tools: tuple[str, ...] = FULL
    widest_sandbox: Sandbox = "workspace-write"
    extra_environment: tuple[str, ...] = ()
    check_mark: str = "fairlead-check:codex"


def sandbox_for(policy: ToolPolicy, widest: Sandbox = "workspace-write") -> Sandbox:
    """Codex reads and writes through its shell, so it is held to reading or given the shell; nothing between."""
    if policy.has("Bash"):
        return widest
    if policy.has("Edit", "Write", "NotebookEdit"):
        raise error(
            Code.E_PERMISSION_TIER,
            f"codex cannot edit files without its shell, which this tier does not allow ({', '.join(policy.tools)}).",
            next_step="Use the tier readonly or full in PERMISSIONS.json, or another agent.",
        )
    if not policy.has("Read", "Glob", "Grep"):
        raise error(Code.E_PERMISSION_TIER, "codex can always read files, and this tier does not allow that.")
    return "read-only"


def tool_options() -> tuple[str, ...]:
    """Fairlead's own tools. Codex passes to such a server the variables that it is told to, and no other; Fairlead
    itself decides about each call, so Codex need not ask."""
    server = f"mcp_servers.{SERVER_NAME}"
    values = {
        "command": COMMAND[0],
        "args": list(COMMAND[1:]),
        "env_vars": [GRANT_VARIABLE],
        "startup_timeout_sec": STARTUP_SEC,
        "default_tools_approval_mode": "approve",
    }
    return tuple(part for key, value in values.items() for part in ("-c", f"{server}.{key}={json.dumps(value)}"))


def arguments(
    invocation: Invocation,
    settings: CodexSettings,
    policy: ToolPolicy,
    images: tuple[str, ...] = (),
    tools: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """The prompt itself comes by standard input, which `-` stands for: then it can be neither option nor command."""
    web = () if policy.has("WebSearch") else ("-c", 'web_search="disabled"')
    model = invocation.model or settings.model
    return (
        settings.command,
        "exec",
        "--json",
        "--skip-git-repo-check",
        *("-s", sandbox_for(policy, settings.widest_sandbox)),
        *web,
        *tools,
        *(("-m", model) if model else ()),
        *invocation.args,
        *_talk(invocation),
        *(part for image in images for part in ("-i", image)),
        "--",
        "-",
    )


def _talk(invocation: Invocation) -> tuple[str, ...]:
    """The talk that is gone on with: its own, or a copy that codex makes of another."""
    if invocation.resume_key:
        return ("resume", invocation.resume_key)
    return ("fork", invocation.fork.key) if invocation.fork is not None else ()


class CodexAdapter:
    def __init__(self, settings: CodexSettings, environment: Mapping[str, str], tools: ToolServer = NO_TOOLS) -> None:
        self._tools = tools
        self._settings = settings
        self._env = child_environment(environment, own_prefixes=_OWN, extra=settings.extra_environment)
        self._withheld = withheld_names(environment, self._env)
        self._records = CodexRecords(self._env, settings.command)
        self._totals: dict[str, wire.Usage] = {}

    @property
    def name(self) -> str:
        return "codex"

    @property
    def records(self) -> SessionRecords:
        return self._records

    @property
    def capabilities(self) -> RuntimeCapabilities:
        return RuntimeCapabilities(images=True, models=True, forks=True)

    @asynccontextmanager
    async def prepare(self, invocation: Invocation) -> AsyncGenerator[Prepared]:
        workspace = Path(invocation.workspace_path)
        policy = read_tool_policy(workspace, self._settings.tools)
        context = read_context(workspace, system_prompt_is_set=False)
        images, others = split_images(invocation.files)
        is_new = invocation.resume_key is None and invocation.fork is None
        prompt = compose(invocation.prompt, note=policy.note, context=context.files if is_new else (), files=others)
        _check_prompt(prompt)
        before = await self._total_before(invocation.resume_key or (invocation.fork.key if invocation.fork else None))
        translator = CodexTranslator(invocation.resume_key, before, withheld=self._withheld)
        notes = tuple(note for note in (policy.warning, *(context.warnings if is_new else ())) if note)
        async with comma_free_files(images, self.name) as pictures:
            paths = tuple(picture.path for picture in pictures)
            with self._tools.grant_for(invocation) as grant:
                argv = arguments(invocation, self._settings, policy, paths, tool_options() if grant else ())
                try:
                    yield Prepared(self._command(invocation, argv, prompt, grant), translator, notes)
                finally:
                    self._remember(translator)

    def _command(
        self, invocation: Invocation, argv: tuple[str, ...], prompt: str, grant: ToolGrant | None
    ) -> CliCommand:
        return CliCommand(
            argv=argv,
            cwd=invocation.project_path,
            env={**self._env, **(grant.env if grant is not None else {})},
            mark=invocation.mark,
            stdin=prompt.encode(errors="replace"),
        )

    async def check(self) -> RuntimeHealth:
        settings = self._settings
        return await check_program(settings.command, self._env, mark=settings.check_mark, good=KNOWN_GOOD, login=LOGIN)

    def _remember(self, translator: CodexTranslator) -> None:
        """A turn that did not complete has used tokens all the same: then only codex's own record knows the total."""
        if translator.total is None:
            self._totals.pop(translator.thread_id, None)
        else:
            self._totals[translator.thread_id] = translator.total

    async def _total_before(self, thread_id: str | None) -> wire.Usage | None:
        if thread_id is None:
            return wire.Usage()
        if thread_id in self._totals:
            return self._totals[thread_id]
        return await asyncio.to_thread(_read_recorded_total, codex_home(self._env) / "sessions", thread_id)


def _check_prompt(prompt: str) -> None:
    if not prompt.strip():
        raise error(Code.E_EMPTY_MESSAGE)
    if len(prompt) > MOST_CHARACTERS:
        raise error(
            Code.E_MESSAGE_TOO_LARGE,
            f"codex accepts at most {MOST_CHARACTERS} characters; this prompt has {len(prompt)}.",
        )


def _read_recorded_total(sessions: Path, thread_id: str) -> wire.Usage | None:
    if not thread_id.replace("-", "").isalnum():
        return None  # the id becomes part of a file pattern
    try:
        for path in sessions.rglob(f"rollout-*-{thread_id}.jsonl"):
            return total_in_rollout(read_regular(path).splitlines())
    except OSError:
        pass  # without codex's record the usage of the turn stays unknown
    return None


def codex_runtime(
    settings: CodexSettings, environment: Mapping[str, str], job_logs: JobLogs, tools: ToolServer = NO_TOOLS
) -> PerTurnRuntime:
    return PerTurnRuntime(CodexAdapter(settings, environment, tools), job_logs)
