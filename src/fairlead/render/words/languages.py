"""The words of a language, loaded when first needed: most daemons speak one or two of the four languages, and one that
serves Discord alone never says what the console or the terminal says."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

_WORDS: Final = "fairlead.render.words"
_PLACES: Final = {
    "status": ("", "STATUS"),
    "question": ("", "QUESTIONS"),
    "tool": ("", "TOOLS"),
    "shortened": ("", "SHORTENED"),
    "page": ("", "PAGE"),
    "command": ("commands.", "COMMANDS"),
    "reply": ("replies.", "REPLIES"),
    "terminal": ("terminal.", "TERMINAL"),
    "card": ("cards.", "CARD"),
    "chat": ("chat.", "CHAT"),
    "console": ("console.", "CONSOLE"),
    "pages": ("pages.", "PAGES"),
    "story": ("story.", "STORY"),
    "worktree": ("worktrees.", "WORKTREES"),
    "tree": ("trees.", "TREES"),
    "error": ("errors.", "ERRORS"),
}
"""Where each group of sentences is: the folder in which each language has a file, and the name in that file."""


class LanguageWords(Mapping[str, str]):
    """The sentences of one language as `group.name`. A group is loaded with its first sentence."""

    def __init__(self, language: str) -> None:
        self._language = language

    def __getitem__(self, key: str) -> str:
        group, _, name = key.partition(".")
        return self.load_group(group)[name]

    def __iter__(self) -> Iterator[str]:
        return (f"{group}.{name}" for group in _PLACES for name in self.load_group(group))

    def __len__(self) -> int:
        return sum(len(self.load_group(group)) for group in _PLACES)

    def load_group(self, group: str) -> dict[str, str]:
        return _load_group(self._language, group)


@cache
def _load_group(language: str, group: str) -> dict[str, str]:
    folder, name = _PLACES[group]
    words: dict[str, Any] = getattr(import_module(f"{_WORDS}.{folder}{language}"), name)
    if group != "error":
        return words
    what = {code: what for code, (what, _) in words.items()}
    return what | {f"{code}.next": next_step for code, (_, next_step) in words.items()}


class LazyCatalogues(Mapping[str, Mapping[str, str]]):
    """`modules` says where the words of each language are; each module has them under `name`."""

    def __init__(self, modules: Mapping[str, str], name: str) -> None:
        self._modules = modules
        self._name = name

    def __getitem__(self, lang: str) -> Mapping[str, str]:
        return _load(self._modules[lang], self._name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


@cache
def _load(module: str, name: str) -> Mapping[str, str]:
    words: Mapping[str, str] = getattr(import_module(module), name)
    return words
