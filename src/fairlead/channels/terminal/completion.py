"""What is offered while a person types: commands by themselves, their arguments by asking the server, and files behind
an `@`."""

import shlex
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from fairlead.api import Client, ServerAway
from fairlead.channels.terminal.commands import CommandLine, HalfTyped
from fairlead.core.command_spec import Choice
from fairlead.core.job_names import job_number
from fairlead.core.machines.places import machine_of
from fairlead.errors import FairleadError
from fairlead.kit.path_completion import files_below

LookUpChoices = Callable[[HalfTyped], Coroutine[Any, Any, tuple[Choice, ...]]]
LookUpFiles = Callable[[str, str], Coroutine[Any, Any, tuple[Choice, ...]]]
"""What fits a directory on another machine and what is typed of a path below it."""
FindDirectory = Callable[[], str]
"""The directory of the project that is worked in now; empty where there is none."""


async def _look_up_nothing(_directory: str, _typed: str) -> tuple[Choice, ...]:
    return ()


def look_up_choices(client: Client, user: str) -> LookUpChoices:
    async def look_up(half_typed: HalfTyped) -> tuple[Choice, ...]:
        return await client.choices(half_typed.command, half_typed.argument.field, half_typed.word, user)

    return look_up


def look_up_files(client: Client, user: str) -> LookUpFiles:
    async def look_up(directory: str, typed: str) -> tuple[Choice, ...]:
        return await client.files(directory, typed, user)

    return look_up


class CommandCompleter(Completer):
    def __init__(
        self,
        commands: CommandLine,
        look_up: LookUpChoices,
        find_directory: FindDirectory = lambda: "",
        look_up_files: LookUpFiles = _look_up_nothing,
    ) -> None:
        self._commands = commands
        self._look_up = look_up
        self._find_directory = find_directory
        self._look_up_files = look_up_files

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002 - the interface's
        typed = document.text_before_cursor
        for line in self._commands.completions(typed):
            yield Completion(line, start_position=-len(typed), display_meta=self._commands.description(line))
        word, directory = _word_at_end(typed), self._find_directory()
        if word.startswith("@") and not machine_of(directory):
            for path in files_below(directory, word[1:]):
                yield Completion(f"@{path}", start_position=-len(word))

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion]:
        for completion in self.get_completions(document, complete_event):
            yield completion
        word, directory = _word_at_end(document.text_before_cursor), self._find_directory()
        if word.startswith("@") and machine_of(directory):
            with suppress(FairleadError, ServerAway):  # a machine that is away has nothing to offer
                for choice in await self._look_up_files(directory, word[1:]):
                    yield Completion(f"@{choice.value}", start_position=-len(word))
        half_typed = self._commands.half_typed(document.text_before_cursor)
        if half_typed is None:
            return
        with suppress(FairleadError, ServerAway):  # without a server there are no choices to offer
            for choice in await self._look_up(half_typed):
                text = _short_value(choice)
                if text != half_typed.word:
                    yield Completion(shlex.quote(text), start_position=-len(half_typed.word), display_meta=choice.label)


def _word_at_end(typed: str) -> str:
    return typed.rsplit(maxsplit=1)[-1] if typed and not typed[-1].isspace() else ""


def _short_value(choice: Choice) -> str:
    """A job by its number: nobody wants to read the whole id."""
    number = job_number(choice.value)
    return str(number) if number else choice.value
