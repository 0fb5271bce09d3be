"""Which commands of an agent look like tests, and what their output says. Pure; reads words, and runs nothing.

It is a guess for people to read, not a judgement: a command that is not recognised is not shown."""

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, cast

_SHELL_TOOLS: Final = frozenset(
    {"bash", "shell", "command_execution", "run_shell_command", "execute", "powershell", "exec_command"}
)
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash"})
_BETWEEN: Final = re.compile(r"&&|\|\||[;|\n]")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_WRAPPERS: Final = frozenset({"sudo", "time", "env", "nice", "exec", "command", "npx", "bunx", "xvfb-run", "timeout"})
_RUNNERS: Final = {"uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run", "hatch": "run", "bundle": "exec"}
_TESTERS: Final = frozenset(
    {
        *("pytest", "py.test", "tox", "nox", "unittest", "jest", "vitest", "mocha", "ava", "rspec", "phpunit", "pest"),
        *("ctest", "gotestsum", "karma", "cypress", "trial", "nose2"),
    }
)
_SUBCOMMANDS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), frozenset({"test", "t"})),
    **dict.fromkeys(
        ("go", "deno", "swift", "dotnet", "mix", "bazel", "zig", "playwright", "rails"), frozenset({"test"})
    ),
    "cargo": frozenset({"test", "nextest"}),
    **dict.fromkeys(("mvn", "mvnw"), frozenset({"test", "verify"})),
    **dict.fromkeys(("gradle", "gradlew"), frozenset({"test", "check"})),
    **dict.fromkeys(("make", "gmake", "just", "task", "rake", "ninja", "meson"), frozenset({"test", "tests", "check"})),
}
_SCRIPT_RUNNERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_COUNT: Final = re.compile(r"\b(\d+)\s+(passed|passing|failed|failing|failures?|errors?|skipped)\b", re.IGNORECASE)
_SAID_TO_FAIL: Final = re.compile(r"\b[1-9]\d*\s+(?:failed|failing|failures?|errors?)\b", re.IGNORECASE)
_REDIRECTION: Final = re.compile(r"\d*[<>]|&>")
_SHOWN: Final = 60


def command_of(tool: str, given: Mapping[str, Any]) -> str:
    """What a shell is told to run by this call of a tool; empty if the tool is no shell."""
    if tool.strip().lower() not in _SHELL_TOOLS:
        return ""
    said = next((given[name] for name in ("command", "cmd", "script") if given.get(name)), "")
    if isinstance(said, str):
        return said
    words = [word for word in cast("Sequence[object]", said) if isinstance(word, str)] if _is_list(said) else []
    return shlex.join(words)


def find_check(command: str) -> str:
    """The part of a shell's command that looks like tests, short enough to show; empty if none does."""
    script = _script_of(_without_wrappers(_split(command)))
    if script:
        return find_check(script)
    parts = (_without_wrappers(_split(part)) for part in _BETWEEN.split(command))
    return next((_shorten(words) for words in parts if _is_check(words)), "")


def read_result(output: str) -> str:
    """The counts in the last line that has some, such as `5 passed, 1 failed`; empty where no line has."""
    for line in reversed(output.splitlines()):
        counts = [f"{number} {what.lower()}" for number, what in _COUNT.findall(line)]
        if counts:
            return ", ".join(dict.fromkeys(counts))
    return ""


def has_passed(*, ok: bool, result: str) -> bool:
    """A command behind a pipe ends well although its tests failed: then the counts tell."""
    return ok and not _SAID_TO_FAIL.search(result)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _split(part: str) -> list[str]:
    try:
        return shlex.split(part, comments=True)
    except ValueError:
        return part.split()


def _without_wrappers(words: list[str]) -> list[str]:
    """Without variables, `sudo`, `timeout 60`, `uv run`, `python -m` and the like before the program."""
    while words:
        program = _name(words[0])
        if _ASSIGNMENT.fullmatch(words[0]) or (program in _WRAPPERS and len(words) > 1):
            words = _drop_options(words[1:]) if program in _WRAPPERS else words[1:]
        elif program in _RUNNERS and words[1:2] == [_RUNNERS[program]]:
            words = _drop_options(words[2:])
        elif program.startswith("python") and words[1:2] == ["-m"]:
            words = words[2:]
        else:
            return words
    return words


def _drop_options(words: list[str]) -> list[str]:
    """Options and numbers of a wrapper, such as the seconds of `timeout`."""
    while words and (words[0].startswith("-") or words[0].rstrip("smh").isdecimal()):
        words = words[1:]
    return words


def _script_of(words: list[str]) -> str:
    """What `bash -lc "…"` runs."""
    is_shell = len(words) >= 3 and _name(words[0]) in _SHELLS and words[1].startswith("-") and "c" in words[1]
    return words[2] if is_shell else ""


def _is_check(words: list[str]) -> bool:
    if not words:
        return False
    program, arguments = _name(words[0]), [word for word in words[1:] if not word.startswith("-")]
    if program in _TESTERS:
        return True
    if program == "node":
        return "--test" in words
    if program in _SCRIPT_RUNNERS and arguments[:1] == ["run"]:
        return any(word.partition(":")[0] in {"test", "tests"} for word in arguments[1:2])
    wanted = _SUBCOMMANDS.get(program, frozenset[str]())
    return bool(wanted & {word.partition(":")[0].partition("-")[0] for word in arguments[:2]})


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _shorten(words: list[str]) -> str:
    said = takewhile(lambda word: not _REDIRECTION.match(word), words[1:])
    line = " ".join((_name(words[0]), *said))
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
