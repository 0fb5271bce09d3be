"""Catalogues by language, each loaded with its first sentence: most daemons speak one or two of the four languages."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module


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
