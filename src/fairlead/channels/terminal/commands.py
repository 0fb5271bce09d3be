"""The words after a slash: parsed into the requests of the catalogue, completed, listed. Pure; knows no server and no
screen."""

import difflib
import re
import shlex
from itertools import dropwhile
from posixpath import join, normpath
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.core.command_spec import Argument, CommandCatalogue, CommandSpec, request_from
from fairlead.core.commands import COMMANDS
from fairlead.core.machines.places import machine_of
from fairlead.core.requests import Request
from fairlead.errors import Code, FairleadError, error
from fairlead.render.words import say


class Local(msgspec.Struct, frozen=True):
    """What the terminal does by itself."""

    what: Literal["help", "quit"]


Parsed: TypeAlias = Request | Local

_LOCAL: Final = {"/help": Local("help"), "/quit": Local("quit"), "/exit": Local("quit")}
_LOCAL_WORDS: Final = {"/help": "terminal.help", "/quit": "terminal.quit", "/exit": "terminal.quit"}
_BARE_WORDS: Final = {"exit": "/exit", "quit": "/quit", "?": "/help"}
"""Whole lines without a slash that everybody types in every program; nobody says them to an agent."""


_WIDE: Final = 80
_NAMED: Final = re.compile(r"(\w+)[:=](\S.*)", re.DOTALL)
"""An argument with its name before it, as `project:api` or `ring=never`; not a sentence such as "check: is it up?"."""


class HalfTyped(msgspec.Struct, frozen=True, kw_only=True):
    """An argument that has choices, and the word that is being typed for it."""

    command: str
    argument: Argument
    word: str


class CommandLine:
    """The commands of a catalogue as somebody types them."""

    def __init__(self, catalogue: CommandCatalogue = COMMANDS, lang: str = "en", directory: str | None = None) -> None:
        self._lang = lang
        self._directory = directory
        self._specs = {f"/{spec.words}": spec for spec in catalogue.specs_for("line")}
        self.names = (*self._specs, *_LOCAL)
        self._groups = {f"/{spec.group}" for spec in self._specs.values() if spec.group}
        by_request = {spec.request: f"/{spec.words}" for spec in catalogue.specs_for("line")}
        menu = (spec for spec in catalogue.specs_for("menu") if f"/{spec.words}" not in self._specs)
        self._elsewhere = {
            f"/{s.words}": by_request[s.request] for s in menu if not s.group and s.request in by_request
        }
        """Commands that only other channels have, and what does the same here: nobody says them to an agent."""
        self._first_words = tuple(dict.fromkeys(name.split()[0] for name in self.names))

    # --- understanding a line

    def is_command(self, line: str) -> bool:
        """A command of Fairlead, well-formed or not, or a probable typing error of one. Agents have slash commands of
        their own, and paths begin with a slash too: every other line is a message."""
        words = line.split()
        if not line.startswith("/") or line.startswith("//") or "\n" in line.strip():
            return False
        return words[0] in self._first_words or words[0] in self._elsewhere or bool(self._near(words[0]))

    def parse(self, line: str) -> Parsed:
        """Raises E_INVALID_ARGS that says how it is used, or what was probably meant."""
        spoken = self._with_words(line)
        if spoken is not None:
            return spoken
        try:
            words = shlex.split(line)
        except ValueError as fault:
            raise error(Code.E_INVALID_ARGS, self._say("quotation")) from fault
        name = next((n for n in (" ".join(words[:2]), " ".join(words[:1])) if n in self.names), None)
        if name is None or (name in self._groups and len(words) > 1):
            raise self._unknown_command(words)
        named, given = self._split_named(name, words[len(name.split()) :])
        arguments = tuple(a for a in self._arguments(name) if a.field not in named)
        if not sum(a.required for a in arguments) <= len(given) <= len(arguments):
            usage = self._say("usage", usage=self.usage(name))
            raise error(Code.E_INVALID_ARGS, usage, next_step=self._say("see_help"))
        if name in _LOCAL:
            return _LOCAL[name]
        typed = {a.field: self._whole(a, word) for a, word in zip(arguments, given, strict=False)}
        return request_from(self._specs[name], typed | named)

    def _with_words(self, line: str) -> Request | None:
        """A command whose argument is the rest of the line, as it was typed; None for any other. Arguments with their
        names before them may stand at either end."""
        name, _, rest = line.strip().partition(" ")
        spec = self._specs.get(name)
        wordy = next((a for a in spec.arguments if a.kind == "words"), None) if spec is not None else None
        if spec is None or wordy is None:
            return None
        words = rest.split()
        head = len(words) - len(self._without_named(name, words))
        tail = len(words) - len(self._without_named(name, words[::-1]))
        named, _ = self._split_named(name, [*words[:head], *words[max(head, len(words) - tail) :]])
        text = rest.strip()
        for _ in range(head):
            text = text.partition(" ")[2].lstrip()
        for _ in range(min(tail, len(words) - head)):
            text = text.rpartition(" ")[0].rstrip()
        if not text and wordy.required:
            usage = self._say("usage", usage=self.usage(name))
            raise error(Code.E_INVALID_ARGS, usage, next_step=self._say("see_help"))
        return request_from(spec, ({wordy.field: text} if text else {}) | named)

    def _without_named(self, name: str, words: list[str]) -> list[str]:
        return list(dropwhile(lambda word: self._named_field(name, word) is not None, words))

    def _split_named(self, name: str, words: list[str]) -> tuple[dict[str, str], list[str]]:
        """The arguments that have their names before them, by field, and the other words."""
        fields = {word: self._named_field(name, word) for word in words}
        named = {field: _value_of(word) for word, field in fields.items() if field is not None}
        return named, [word for word in words if fields[word] is None]

    def _named_field(self, name: str, word: str) -> str | None:
        found = _NAMED.fullmatch(word)
        optional = (a for a in self._arguments(name) if not a.required and a.kind != "words")
        return next((a.field for a in optional if found and found[1] in {a.field, a.option_name}), None)

    def _whole(self, argument: Argument, word: str) -> str:
        """A path begins where the person stands: the daemon stands elsewhere. One on another machine is left to it."""
        if argument.kind != "path" or self._directory is None or word.startswith("~") or machine_of(word):
            return word
        return normpath(join(self._directory, word))

    def _arguments(self, name: str) -> tuple[Argument, ...]:
        return self._specs[name].arguments_for("line") if name in self._specs else ()

    def _near_names(self, typed: str, first: str) -> list[str]:
        return difflib.get_close_matches(typed, self.names, 1) or self._near(first)

    def _unknown_command(self, words: list[str]) -> FairleadError:
        typed = " ".join(words[:2])
        near = [self._elsewhere[words[0]]] if words[0] in self._elsewhere else self._near_names(typed, words[0])
        meant = self._say("did_you_mean", near=near[0] if near else "")
        return error(Code.E_INVALID_ARGS, self._say("unknown_command", typed=typed[:40]), next_step=meant)

    def _say(self, key: str, **fields: str) -> str:
        return say(self._lang, f"terminal.{key}", **fields)

    def _near(self, word: str) -> list[str]:
        return difflib.get_close_matches(word, self._first_words, 1, cutoff=0.78)

    # --- showing what there is

    def usage(self, name: str) -> str:
        arguments = self._arguments(name)
        has_words = any(a.kind == "words" for a in arguments)
        return " ".join((name, *(_usage_of(argument, has_words=has_words) for argument in arguments)))

    def help_lines(self, columns: int = _WIDE) -> list[str]:
        """In two columns; on a narrow screen, as on a phone, each description stands below its command."""
        shown = {self.usage(name): self.description(name) for name in self._in_groups()}
        if columns < _WIDE:
            return [line for usage, words in shown.items() for line in (usage, f"    {words}")]
        width = max(len(usage) for usage in shown if len(usage) < 40)
        return [f"{usage:<{width}}  {words}" for usage, words in shown.items()]

    def _in_groups(self) -> list[str]:
        """`/project` stands before `/project add`; otherwise in the order of the catalogue."""
        return sorted(self.names, key=lambda name: (self._first_words.index(name.split()[0]), " " in name))

    def description(self, name: str) -> str:
        spec: CommandSpec | None = self._specs.get(name)
        return say(self._lang, _LOCAL_WORDS[name] if spec is None else f"command.{spec.key}")

    def completions(self, typed: str) -> list[str]:
        return [n for n in self.names if n.startswith(typed) and n != typed] if typed.startswith("/") else []

    def half_typed(self, typed: str) -> HalfTyped | None:
        """The argument at the end of the line, if there are choices for it."""
        name = max((n for n in self._specs if typed.startswith(f"{n} ")), key=len, default=None)
        if name is None:
            return self._command_of_the_agent(typed)
        *before, word = typed[len(name) + 1 :].split(" ")
        field = self._named_field(name, f"{word}x")
        if field is not None:
            argument = next(a for a in self._arguments(name) if a.field == field)
            return HalfTyped(command=self._specs[name].words, argument=argument, word=_value_of(f"{word}x")[:-1])
        if any(a.kind == "words" for a in self._arguments(name)):
            return None
        rest = self._arguments(name)[len([w for w in before if w]) :]
        if not rest or not rest[0].choices:
            return None
        return HalfTyped(command=self._specs[name].words, argument=rest[0], word=word)

    def _command_of_the_agent(self, typed: str) -> HalfTyped | None:
        """A slash command that Fairlead does not have goes to the agent, so the agent's own are offered too."""
        spec = self._specs.get("/agent command")
        if spec is None or not typed.startswith("/") or typed.startswith("//") or len(typed.split()) != 1:
            return None
        return HalfTyped(command=spec.words, argument=spec.arguments_for("line")[0], word=typed[1:])


def _value_of(word: str) -> str:
    """Of a word that names its argument."""
    found = _NAMED.fullmatch(word)
    return word if found is None else found[2]


def _usage_of(argument: Argument, *, has_words: bool) -> str:
    if argument.required or argument.kind == "words" or not (has_words or argument.kind == "yes_no"):
        return argument.usage
    return f"[{argument.field}:{'yes' if argument.kind == 'yes_no' else 'NAME'}]"


def spell_out(line: str) -> str:
    """`exit` as `/exit`; any other line as it is."""
    return _BARE_WORDS.get(line.strip().lower(), line)


def message_in(line: str) -> str:
    return line[1:] if line.startswith("//") else line
