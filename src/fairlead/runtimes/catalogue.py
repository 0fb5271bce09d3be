"""Which runtimes there are on this machine, the preferred one first. The built-in echo is always there, and last.

Claude, Codex and Gemini are there when their program is found on PATH; whether they are logged in, `check` tells.
Agents that speak the Agent Client Protocol (ACP) follow. Each adapter is imported when it is needed.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from fairlead.core.agents import ConfiguredAgent
from fairlead.kit.tasks import OwnedTasks, run_to_end
from fairlead.observe import JobLogDirectory
from fairlead.ports import Runtime
from fairlead.runtimes.acp.available_agents import available_agents
from fairlead.runtimes.acp.known_agents import AcpAgent
from fairlead.runtimes.echo import EchoRuntime
from fairlead.runtimes.pool import ProcessPool
from fairlead.runtimes.separation import agents_environment
from fairlead.runtimes.tool_server import NO_TOOLS, ToolServer
from fairlead.settings import Settings

PREFERRED: Final = ("claude", "codex-acp", "codex", "gemini")
"""A new project begins with the first of these that is there. Codex over ACP can ask a person for permission, which
`codex exec` cannot; Gemini's own runtime goes on with its session at once after a crash, where Gemini over ACP may have
to wait until the minute is over."""

_LAST: Final = "echo"


class RuntimeParts(msgspec.Struct, frozen=True):
    """What runtimes are made of; the pool is one for all long-lived agents."""

    settings: Settings
    job_logs: JobLogDirectory
    pool: ProcessPool
    tools: ToolServer = NO_TOOLS


class Catalogue:
    """The runtimes by name, the preferred one first. `runtimes` is shared: it changes in place when agents are added or
    removed."""

    def __init__(self, settings: Settings, job_logs: JobLogDirectory, tools: ToolServer = NO_TOOLS) -> None:
        self.runtimes: dict[str, Runtime] = {}
        self._settings = settings
        self._job_logs = job_logs
        self._tools = tools
        self._agents: dict[str, AcpAgent] = {}
        self._pool = ProcessPool(
            most=settings.pool_size(),
            idle_sec=settings.multi_turn_idle_timeout_ms / 1000,
            has_room_to_keep=settings.has_room_to_keep,
        )

    def follow(self, configured: Mapping[str, ConfiguredAgent]) -> list[Runtime]:
        """Make the runtimes fit the configured agents. Returns those that are no longer in use, for the caller to
        close; the runtime of an agent that has not changed stays, with its processes."""
        wanted = available_agents(self._settings, configured)
        changed = [name for name, agent in self._agents.items() if wanted.get(name) != agent]
        gone = [self.runtimes.pop(name) for name in changed]
        there = self.runtimes | self._make_missing(wanted)
        self._agents = wanted
        self.runtimes.clear()
        built_in = [name for name in _BUILT_IN if name in there]
        self.runtimes.update({name: there[name] for name in in_preferred_order([*built_in, *wanted, _LAST])})
        return gone

    def _make_missing(self, wanted: Mapping[str, AcpAgent]) -> dict[str, Runtime]:
        parts = RuntimeParts(self._settings, self._job_logs, self._pool, self._tools)
        makers: dict[str, Callable[[], Runtime]] = {
            **{name: lambda name=name: _BUILT_IN[name](parts) for name in _find_built_in(self._settings)},
            **{name: lambda agent=agent: make_acp_runtime(agent, parts) for name, agent in wanted.items()},
            _LAST: EchoRuntime,
        }
        return {name: make() for name, make in makers.items() if name not in self.runtimes}

    async def aclose(self) -> None:
        """All at once, because a stop has little time. One that cannot be closed keeps no other open."""
        tasks = OwnedTasks("runtimes")
        closing = [tasks.start(runtime.aclose(), name=name) for name, runtime in self.runtimes.items()]
        await run_to_end(tasks.join())
        faults = [fault for task in closing if (fault := task.exception()) is not None]
        if faults:
            raise faults[0]


def available_names(settings: Settings, configured: Mapping[str, ConfiguredAgent]) -> tuple[str, ...]:
    """The names that a Catalogue would have, without making a runtime."""
    return in_preferred_order([*_find_built_in(settings), *available_agents(settings, configured), _LAST])


def in_preferred_order(names: Iterable[str]) -> tuple[str, ...]:
    """Those that are not PREFERRED stay in the order in which they are given, with echo behind them."""
    given = dict.fromkeys(names)
    ordered = dict.fromkeys([*PREFERRED, *(name for name in given if name != _LAST), _LAST])
    return tuple(name for name in ordered if name in given)


def missing_programs(settings: Settings) -> list[str]:
    """The CLIs that could be used and are not found here."""
    return [program for program in _programs(settings).values() if not shutil.which(program)]


def make_acp_runtime(agent: AcpAgent, parts: RuntimeParts) -> Runtime:
    from fairlead.runtimes.acp.runtime import AcpRuntime, AcpSettings

    settings = parts.settings
    chosen = AcpSettings(tools=settings.runtime_tools, watchdog_sec=settings.agent_watchdog_sec)
    environment = agents_environment(settings)
    return AcpRuntime(
        agent,
        settings=chosen,
        environment=environment,
        job_logs=parts.job_logs.open,
        pool=parts.pool,
        tools=parts.tools,
    )


def _programs(settings: Settings) -> dict[str, str]:
    return {"claude": settings.claude_command, "codex": settings.codex_command, "gemini": settings.gemini_command}


def _find_built_in(settings: Settings) -> list[str]:
    return [name for name, program in _programs(settings).items() if shutil.which(program)]


def _make_claude(parts: RuntimeParts) -> Runtime:
    from fairlead.runtimes.claude.command_line import ClaudeSettings
    from fairlead.runtimes.claude.runtime import ClaudeRuntime

    settings = parts.settings
    chosen = ClaudeSettings(
        command=settings.claude_command,
        model=settings.runtime_model,
        fallback_model=settings.runtime_fallback_model,
        max_budget_usd=settings.runtime_max_budget_usd,
        append_system_prompt=settings.claude_append_system_prompt,
        output_format=settings.claude_output_format,
        tools=settings.runtime_tools,
        dangerously_skip_permissions=settings.claude_dangerously_skip_permissions,
        strict_mcp_config=settings.claude_strict_mcp_config,
        mcp_config=settings.claude_mcp_config,
        debug_file=settings.claude_debug_file,
        add_dirs=settings.claude_add_dirs,
        multi_turn=settings.multi_turn,
        hang_timeout_sec=settings.multi_turn_hang_timeout_ms / 1000,
        idle_timeout_sec=settings.multi_turn_idle_timeout_ms / 1000,
        max_processes=settings.pool_size(),
        session_scanning=settings.session_scanning,
        extra_environment=settings.runtime_environment,
    )
    return ClaudeRuntime(chosen, agents_environment(settings), parts.job_logs.open, pool=parts.pool, tools=parts.tools)


def _make_codex(parts: RuntimeParts) -> Runtime:
    from fairlead.runtimes.codex.runtime import CodexSettings, codex_runtime

    settings = parts.settings
    chosen = CodexSettings(
        command=settings.codex_command,
        model=settings.codex_model,
        tools=settings.runtime_tools,
        widest_sandbox=settings.codex_sandbox,
        extra_environment=settings.runtime_environment,
    )
    return codex_runtime(chosen, agents_environment(settings), parts.job_logs.open, parts.tools)


def _make_gemini(parts: RuntimeParts) -> Runtime:
    from fairlead.runtimes.gemini.runtime import GeminiSettings, gemini_runtime

    settings = parts.settings
    chosen = GeminiSettings(
        command=settings.gemini_command,
        model=settings.gemini_model,
        tools=settings.runtime_tools,
        output=settings.gemini_output,
        extra_environment=settings.runtime_environment,
    )
    return gemini_runtime(chosen, agents_environment(settings), parts.job_logs.open, parts.tools)


_BUILT_IN: Final = {"claude": _make_claude, "codex": _make_codex, "gemini": _make_gemini}
