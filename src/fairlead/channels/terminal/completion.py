"""What is offered while a person types: commands by themselves, their arguments by asking the server, and files behind
an `@`."""

import shlex
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from fairlead.api import Client, ServerAway
from fairlead.channels.terminal.commands import CommandLine, HalfTyped
from fairlead.core.command_spec import Choice
from fairlead.core.job_names import job_number
from fairlead.errors import FairleadError

MOST_FILES: Final = 50

LookUpChoices = Callable[[HalfTyped], Coroutine[Any, Any, tuple[Choice, ...]]]
FindDirectory = Callable[[], str]
"""The directory of the project that is worked in now; empty where there is none on this machine."""


def look_up_choices(client: Client, user: str) -> LookUpChoices:
    async def look_up(half_typed: HalfTyped) -> tuple[Choice, ...]:
        return await client.choices(half_typed.command, half_typed.argument.field, half_typed.word, user)

    return look_up


class CommandCompleter(Completer):
    def __init__(
        self, commands: CommandLine, look_up: LookUpChoices, find_directory: FindDirectory = lambda: ""
    ) -> None:
        self._commands = commands
        self._look_up = look_up
        self._find_directory = find_directory

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002 - the interface's
        typed = document.text_before_cursor
        for line in self._commands.completions(typed):
            yield Completion(line, start_position=-len(typed), display_meta=self._commands.description(line))
        word = typed.split()[-1] if typed and not typed[-1].isspace() else ""
        if word.startswith("@"):
            for path in files_below(self._find_directory(), word[1:]):
                yield Completion(f"@{path}", start_position=-len(word))

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion]:
        for completion in self.get_completions(document, complete_event):
            yield completion
        half_typed = self._commands.half_typed(document.text_before_cursor)
        if half_typed is None:
            return
        with suppress(FairleadError, ServerAway):  # without a server there are no choices to offer
            for choice in await self._look_up(half_typed):
                text = _short_value(choice)
                if text != half_typed.word:
                    yield Completion(shlex.quote(text), start_position=-len(half_typed.word), display_meta=choice.label)


def _short_value(choice: Choice) -> str:
    """A job by its number: nobody wants to read the whole id."""
    number = job_number(choice.value)
    return str(number) if number else choice.value


def files_below(directory: str, typed: str) -> list[str]:
    """Files and directories whose path, relative to `directory`, begins with what is typed. Hidden ones only if their
    dot is typed."""
    if not directory or typed.startswith(("/", "~")):
        return []
    before, _, begun = typed.rpartition("/")
    start = Path(directory, before)
    try:
        found = sorted(start.iterdir())
    except OSError:
        return []
    fitting = [p for p in found if p.name.startswith(begun) and (begun.startswith(".") or not p.name.startswith("."))]
    return [f"{p.relative_to(directory)}{'/' if p.is_dir() else ''}" for p in fitting[:MOST_FILES]]
