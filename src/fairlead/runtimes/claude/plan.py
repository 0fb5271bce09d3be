"""A turn of Claude, thought through before anything is started: words, tools, directories, session, command line."""

import asyncio
import uuid
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from fairlead.core.engine import EngineEvent, InputFile, Invocation, Noticed, ResumeKeyFound
from fairlead.kit.processes import find_program
from fairlead.runtimes.claude import command_line
from fairlead.runtimes.claude.command_line import ClaudeSettings, SessionChoice
from fairlead.runtimes.claude.content import Content, content_of
from fairlead.runtimes.claude.modes import Modes
from fairlead.runtimes.claude.process import Launch
from fairlead.runtimes.tool_policy import ToolPolicy, read_tool_policy
from fairlead.runtimes.workspace import read_context


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`notes` are for the person."""

    policy: ToolPolicy
    content: Content
    session: SessionChoice
    launch: Launch
    model: str
    mode: str
    add_dirs: tuple[str, ...]
    notes: tuple[str, ...]

    def first_events(self) -> list[EngineEvent]:
        """They come before a process is started, so that a new session's id is on disk before claude knows it."""
        notices: list[EngineEvent] = [Noticed(note) for note in self.notes]
        return [*notices, ResumeKeyFound(self.session.key)] if self.session.is_new else notices


class Planner:
    def __init__(self, settings: ClaudeSettings, env: Mapping[str, str], modes: Modes) -> None:
        self._settings = settings
        self._env = env
        self._modes = modes
        self._add_dirs: dict[str, tuple[str, ...]] = {}
        self.unconfirmed_ids: set[str] = set()
        """Ids that were given out and that claude has not yet shown to know: it would refuse to resume them."""

    def check_program(self, project_path: str) -> None:
        """Raises the fault for which claude cannot be started there."""
        find_program(self._settings.command, cwd=_path_of(project_path), env=self._env)

    async def plan(self, invocation: Invocation) -> Plan:
        """Raises the FairleadError that forbids the turn."""
        # Pictures may be large, so a thread reads them; a few small files are read sooner than a thread starts.
        plan = await asyncio.to_thread(self._make, invocation) if invocation.files else self._make(invocation)
        if plan.session.is_new:
            self.unconfirmed_ids.add(plan.session.key)
        return plan

    def _make(self, invocation: Invocation) -> Plan:
        settings, workspace = self._settings, _path_of(invocation.workspace_path)
        policy = read_tool_policy(workspace, settings.tools)
        context = read_context(workspace, system_prompt_is_set=bool(settings.append_system_prompt))
        is_first = invocation.resume_key is None and invocation.fork is None
        content = content_of(
            invocation.prompt, invocation.files, note=policy.note, context=context.files if is_first else ()
        )
        key = invocation.resume_key or str(uuid.uuid4())
        mode, mode_note = self._modes.get_allowed(invocation.session_key, policy)
        add_dirs = self._choose_directories(invocation, content.named)
        argv = command_line.conversation(settings, policy, add_dirs=add_dirs, args=invocation.args)
        # Warnings about the context are told where it would have been read: at the start of a session.
        notes = (policy.warning, mode_note, *(context.warnings if is_first else ()), *content.notes)
        return Plan(
            policy=policy,
            content=content,
            session=self._choose_session(invocation, key),
            launch=Launch(argv, invocation.project_path, self._env),
            model=invocation.model or settings.model,
            mode=mode,
            add_dirs=add_dirs,
            notes=tuple(note for note in notes if note),
        )

    def _choose_session(self, invocation: Invocation, key: str) -> SessionChoice:
        is_new = invocation.resume_key is None or key in self.unconfirmed_ids
        return SessionChoice(key, is_new=is_new, fork=invocation.fork if is_new else None)

    def _choose_directories(self, invocation: Invocation, named: tuple[InputFile, ...]) -> tuple[str, ...]:
        """The session's inbox only where claude must read a file there by itself: a picture in the prompt needs none.
        A directory that was given stays with the session: taking it away would need another process."""
        given = self._add_dirs.get(invocation.session_key, self._settings.add_dirs)
        inboxes = [str(Path(file.path).parent) for file in named]
        outside = [path for path in inboxes if not Path(path).is_relative_to(invocation.project_path)]
        self._add_dirs[invocation.session_key] = tuple(dict.fromkeys((*given, *outside)))
        return self._add_dirs[invocation.session_key]


@lru_cache(maxsize=256)
def _path_of(directory: str) -> Path:
    """Kept, because every turn asks for the same ones, and to take a path apart takes longer than to look at it."""
    return Path(directory)
