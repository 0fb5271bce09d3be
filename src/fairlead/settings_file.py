"""Which file the settings are read from, what it and the environment say, and what in them cannot be a setting. Knows
names and lines, not their meaning.

A project's own `.env` is nobody's business here: only a file that is named, the one in the user's configuration
directory, or the one in Fairlead's own checkout is read.
"""

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from fairlead.errors import Code, error
from fairlead.kit.similar_names import find_similar

if TYPE_CHECKING:
    from dotenv.parser import Binding

FILE_VARIABLE: Final = "FAIRLEAD_ENV_FILE"
_FILE_NAME: Final = ".env"
_PREFIXES: Final = ("FAIRLEAD_", "DISCORD_", "CLAUDE_")
_OWN_ENVIRONMENT: Final = ("FAIRLEAD_", "DISCORD_")
"""Claude Code has variables of its own that begin with CLAUDE_: in the environment they are no mistake."""
_NOT_SETTINGS: Final = {
    FILE_VARIABLE,
    "FAIRLEAD_RUN",
    "FAIRLEAD_HTTP_TOKEN",
    "FAIRLEAD_DISCORD_OPENAPI",
    "FAIRLEAD_PROJECT_URL",
    "FAIRLEAD_PROJECT_FORGE",
}
"""Fairlead's own variables that are no settings: the mark of its child processes, what its tests and builds use."""
_VERY_NEAR: Final = 0.85


class SettingsFile(NamedTuple):
    """The file that is read, if it is there; `why` says who chose it."""

    path: Path
    why: Literal["named", "usual", "checkout"]


def find_settings_file() -> SettingsFile:
    """Raises E_CONFIG for a file that was named and is not there."""
    named = os.environ.get(FILE_VARIABLE, "")
    if named:
        path = Path(named).expanduser().absolute()
        if not path.is_file():
            raise error(
                Code.E_CONFIG,
                f"The settings file {path} does not exist.",
                next_step=f"Correct --env-file or {FILE_VARIABLE}.",
            )
        return SettingsFile(path, "named")
    usual = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "fairlead" / _FILE_NAME
    if not usual.is_file():
        for root in (Path(__file__).parents[2], Path.cwd()):
            if _is_checkout(root) and (root / _FILE_NAME).is_file():
                return SettingsFile(root / _FILE_NAME, "checkout")
    return SettingsFile(usual, "usual")


def _is_checkout(directory: Path) -> bool:
    return (directory / "pyproject.toml").is_file() and (directory / "src/fairlead/__init__.py").is_file()


def read_sources(file: Path | None) -> list[dict[str, str]]:
    """The environment, and then the file."""
    environment = _fold_case(os.environ)
    if file is None or not file.exists():
        return [environment]
    _refuse_special_file(file)
    from dotenv import dotenv_values  # noqa: PLC0415 - only a settings file needs it

    logging.getLogger("dotenv.main").setLevel(logging.ERROR)  # `find_strange_settings` reports what cannot be read
    try:
        return [environment, _fold_case(dotenv_values(file, encoding="utf-8"))]
    except (OSError, ValueError) as mistake:
        what = f"The settings cannot be read: {mistake}."
        raise error(Code.E_CONFIG, what, next_step=advise_correction(file)) from None


def _fold_case(variables: Mapping[str, str | None]) -> dict[str, str]:
    """Names are taken in small letters too, where they do not also stand in capitals."""
    small = {name.upper(): text or "" for name, text in variables.items()}
    return small | {name: text or "" for name, text in variables.items() if name.isupper()}


def advise_correction(file: Path | None) -> str:
    where = f" or in {file}" if file is not None else ""
    return f"Correct them in the environment{where}. docs/reference.md and .env.example explain each setting."


def _refuse_special_file(path: Path) -> None:
    """Reading a named pipe could last for ever, and the settings are read again while Fairlead runs."""
    if path.exists() and not path.is_file():
        raise error(
            Code.E_CONFIG,
            f"{path.absolute()} is not a regular file, so no settings are read from it.",
            next_step="Replace it with a file, or remove it and set the variables in the environment.",
        )


def find_strange_settings(file: SettingsFile, known: Iterable[str]) -> list[str]:
    """Sentences about lines that cannot be read, and about names that are no settings. Values are not repeated: one
    may be a secret."""
    names = [*known]
    lines = [_describe_line(file.path, line, names) for line in _read_lines(file.path)]
    variables = [
        f"The environment has {name}, which is not a setting.{_suggest(name, names)}"
        for name in sorted(os.environ)
        if _is_strange(name, names, _OWN_ENVIRONMENT)
    ]
    return [*filter(None, lines), *variables, *_describe_file_here(file)]


def _read_lines(path: Path) -> "list[Binding]":
    if not path.is_file():  # a named pipe would be read for ever
        return []
    try:
        with path.open(encoding="utf-8") as stream:
            from dotenv.parser import parse_stream  # noqa: PLC0415 - only a settings file needs it

            return [*parse_stream(stream)]
    except (OSError, UnicodeDecodeError):
        return []  # reading the settings themselves reports this


def _describe_line(path: Path, line: "Binding", known: list[str]) -> str:
    at = f"{path}, line {line.original.line}"
    if line.error:
        return f"{at} cannot be read. Write it as NAME=value."
    if line.key is None or not (_is_strange(line.key, known, _PREFIXES) or _nearest(line.key, known, _VERY_NEAR)):
        return ""
    return "" if line.key in known else f"{at}: {line.key} is not a setting.{_suggest(line.key, known)}"


def _is_strange(name: str, known: list[str], prefixes: tuple[str, ...]) -> bool:
    return name.startswith(prefixes) and name not in known and name not in _NOT_SETTINGS


def _suggest(name: str, known: list[str]) -> str:
    near = _nearest(name, known, 0.6)
    return f" Did you mean {near[0]}?" if near else ""


def _nearest(name: str, known: list[str], cutoff: float) -> list[str]:
    return find_similar(name, known, cutoff=cutoff)


def _describe_file_here(file: SettingsFile) -> list[str]:
    """Earlier versions read `.env` of the current directory."""
    here = Path.cwd() / _FILE_NAME
    own = [line.key for line in _read_lines(here) if (line.key or "").startswith("FAIRLEAD_")]
    if not own or here.resolve() == file.path.resolve():
        return []
    return [f"{here} has Fairlead settings but is not read. Move it to {file.path}, or use --env-file."]


def describe_file(file: SettingsFile, environment: Mapping[str, str] = os.environ) -> str:
    """Where the settings come from, for a person."""
    if not file.path.is_file():
        return f"from the environment; {file.path} does not exist"
    named = " (named by FAIRLEAD_ENV_FILE or --env-file)" if environment.get(FILE_VARIABLE) else ""
    checkout = " (in the checkout; ~/.config/fairlead/.env is the usual place)" if file.why == "checkout" else ""
    return f"from {file.path}{named}{checkout}"
