"""Which runtimes there are on this machine, the preferred one first. The built-in echo is always there, and last.

A CLI counts as there when its program is found on PATH; whether it is logged in, `check` tells. Each adapter is
imported when its program was found.
"""

import os
import shutil
from collections.abc import Iterator

from fairlead.observe import JobLogDirectory
from fairlead.ports import Runtime
from fairlead.runtimes.echo import EchoRuntime
from fairlead.settings import Settings


def available_runtimes(settings: Settings, job_logs: JobLogDirectory) -> dict[str, Runtime]:
    runtimes = [*_find_runtimes(settings, job_logs), EchoRuntime()]
    return {runtime.name: runtime for runtime in runtimes}


def missing_programs(settings: Settings) -> list[str]:
    """The CLIs that could be used and are not found here."""
    wanted = (settings.claude_command, settings.codex_command, settings.gemini_command)
    return [program for program in wanted if not shutil.which(program)]


def _find_runtimes(settings: Settings, job_logs: JobLogDirectory) -> Iterator[Runtime]:
    for program, make in (
        (settings.claude_command, _make_claude),
        (settings.codex_command, _make_codex),
        (settings.gemini_command, _make_gemini),
    ):
        if shutil.which(program):
            yield make(settings, job_logs)


def _make_claude(settings: Settings, job_logs: JobLogDirectory) -> Runtime:
    from fairlead.runtimes.claude.command_line import ClaudeSettings
    from fairlead.runtimes.claude.runtime import ClaudeRuntime

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
        max_processes=settings.multi_turn_max_processes,
        session_scanning=settings.session_scanning,
        extra_environment=settings.runtime_environment,
    )
    return ClaudeRuntime(chosen, os.environ, job_logs.open)


def _make_codex(settings: Settings, job_logs: JobLogDirectory) -> Runtime:
    from fairlead.runtimes.codex.runtime import CodexSettings, codex_runtime

    chosen = CodexSettings(
        command=settings.codex_command,
        model=settings.codex_model,
        tools=settings.runtime_tools,
        widest_sandbox=settings.codex_sandbox,
        extra_environment=settings.runtime_environment,
    )
    return codex_runtime(chosen, os.environ, job_logs.open)


def _make_gemini(settings: Settings, job_logs: JobLogDirectory) -> Runtime:
    from fairlead.runtimes.gemini.runtime import GeminiSettings, gemini_runtime

    chosen = GeminiSettings(
        command=settings.gemini_command,
        model=settings.gemini_model,
        tools=settings.runtime_tools,
        output=settings.gemini_output,
        extra_environment=settings.runtime_environment,
    )
    return gemini_runtime(chosen, os.environ, job_logs.open)
