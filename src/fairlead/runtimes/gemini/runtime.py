"""Gemini as a runtime: its command line, its policy for a tier. Knows nothing of its events."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec

from fairlead.core.engine import InputFile, Invocation
from fairlead.errors import Code, error
from fairlead.ports import NO_RECORDS, JobLogs, RuntimeCapabilities, RuntimeHealth, SessionRecords
from fairlead.runtimes.checks import KnownGood, Login, check_program
from fairlead.runtimes.cli_turn import CliCommand
from fairlead.runtimes.comma_free import comma_free_files
from fairlead.runtimes.environment import child_environment
from fairlead.runtimes.gemini.policy import is_everything, policy_for
from fairlead.runtimes.gemini.translate import JsonTranslator, StreamTranslator
from fairlead.runtimes.gemini_defaults import keep_sessions, tool_defaults
from fairlead.runtimes.images import split_images
from fairlead.runtimes.per_turn import PerTurnRuntime, Prepared
from fairlead.runtimes.prompts import compose, without_outside_mentions
from fairlead.runtimes.tool_policy import FULL, ToolPolicy, read_tool_policy
from fairlead.runtimes.tool_server import NO_TOOLS, ToolServer
from fairlead.runtimes.workspace import ContextFile, read_context

MOST_STDIN: Final = 8 * 1024 * 1024
KNOWN_GOOD: Final = KnownGood((0, 50, 0), (0, 61, 99))
LOGIN: Final = Login(
    ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"),
    (".gemini/oauth_creds.json", ".gemini/google_accounts.json"),
    "Run `gemini` once and log in, or set GEMINI_API_KEY.",
)
_OWN: Final = ("GEMINI_", "GOOGLE_")

OutputMode = Literal["stream-json", "json"]


class GeminiSettings(msgspec.Struct, frozen=True, kw_only=True):
    command: str = "gemini"
    model: str = ""
    tools: tuple[str, ...] = FULL
    output: OutputMode = "stream-json"
    extra_environment: tuple[str, ...] = ()
    check_mark: str = "fairlead-check:gemini"


def arguments(
    invocation: Invocation,
    settings: GeminiSettings,
    policy: ToolPolicy,
    *,
    policy_file: str,
    directories: tuple[str, ...],
) -> tuple[str, ...]:
    """The prompt comes by standard input; the empty `--prompt=` only says that nobody sits at a terminal."""
    model = invocation.model or settings.model
    tier = ("--approval-mode", "yolo") if is_everything(policy) else ("--admin-policy", policy_file)
    return (
        settings.command,
        "--skip-trust",
        *("--output-format", settings.output),
        *tier,
        *(("-m", model) if model else ()),
        *(("--resume", invocation.resume_key) if invocation.resume_key else ()),
        *(part for directory in directories for part in ("--include-directories", directory)),
        *invocation.args,
        "--prompt=",
    )


class GeminiAdapter:
    def __init__(self, settings: GeminiSettings, environment: Mapping[str, str], tools: ToolServer = NO_TOOLS) -> None:
        self._tools = tools
        self._settings = settings
        own = child_environment(environment, own_prefixes=_OWN, extra=settings.extra_environment)
        # Otherwise gemini starts itself again as a child, which takes a second more and ignores signals.
        self._env = {**keep_sessions(), **own, "GEMINI_CLI_NO_RELAUNCH": "true"}
        self._tool_defaults = tool_defaults() if tools.is_on else {}

    @property
    def name(self) -> str:
        return "gemini"

    @property
    def records(self) -> SessionRecords:
        return NO_RECORDS

    @property
    def capabilities(self) -> RuntimeCapabilities:
        return RuntimeCapabilities(images=True, models=True)

    @asynccontextmanager
    async def prepare(self, invocation: Invocation) -> AsyncGenerator[Prepared]:
        workspace = Path(invocation.workspace_path)
        policy = read_tool_policy(workspace, self._settings.tools)
        context = read_context(workspace, system_prompt_is_set=False)
        is_new = invocation.resume_key is None
        async with _policy_file(policy) as policy_file, comma_free_files(invocation.files, self.name) as files:
            prompt = _prompt(invocation.prompt, files, policy, context.files if is_new else ())
            directories = tuple(dict.fromkeys(str(Path(file.path).parent) for file in files))
            argv = arguments(invocation, self._settings, policy, policy_file=policy_file, directories=directories)
            with self._tools.grant_for(invocation) as grant:
                env = {**self._env, **(grant.env | self._tool_defaults if grant is not None else {})}
                yield Prepared(
                    CliCommand(argv=argv, cwd=invocation.project_path, env=env, mark=invocation.mark, stdin=prompt),
                    self._translator(invocation.resume_key, policy),
                    tuple(note for note in (policy.warning, *(context.warnings if is_new else ())) if note),
                )

    async def check(self) -> RuntimeHealth:
        settings = self._settings
        return await check_program(settings.command, self._env, mark=settings.check_mark, good=KNOWN_GOOD, login=LOGIN)

    def _translator(self, resumed: str | None, policy: ToolPolicy) -> StreamTranslator | JsonTranslator:
        if self._settings.output == "stream-json":
            return StreamTranslator(resumed)
        return JsonTranslator(resumed, can_act=policy.has("Bash", "Edit", "Write"))


@asynccontextmanager
async def _policy_file(policy: ToolPolicy) -> AsyncGenerator[str]:
    """Empty where nothing is forbidden: then no file is needed, and a turn begins a little sooner."""
    if is_everything(policy):
        yield ""
        return
    with tempfile.TemporaryDirectory(prefix="fairlead-gemini-") as scratch:
        path = Path(scratch) / "policy.toml"
        await asyncio.to_thread(path.write_text, policy_for(policy))
        yield str(path)


def _prompt(words: str, files: tuple[InputFile, ...], policy: ToolPolicy, context: tuple[ContextFile, ...]) -> bytes:
    """Pictures are mentioned with an @, which is how Gemini reads them; other files are only named."""
    images, others = split_images(files)
    composed = compose(without_outside_mentions(words), note=policy.note, context=context, files=others)
    mentions = "".join(f"\n@{_escape(image.path)}" for image in images)
    if not (composed + mentions).strip():
        raise error(Code.E_EMPTY_MESSAGE)
    prompt = (composed + mentions).encode(errors="replace")
    if len(prompt) > MOST_STDIN:
        raise error(
            Code.E_MESSAGE_TOO_LARGE, f"gemini accepts at most {MOST_STDIN} bytes; this prompt has {len(prompt)}."
        )
    return prompt


def _escape(path: str) -> str:
    return "".join(f"\\{c}" if c in " ()[]{}'\"&;,!?*\\" else c for c in path)


def gemini_runtime(
    settings: GeminiSettings, environment: Mapping[str, str], job_logs: JobLogs, tools: ToolServer = NO_TOOLS
) -> PerTurnRuntime:
    return PerTurnRuntime(GeminiAdapter(settings, environment, tools), job_logs)
