"""What the terminal says comes from the catalogues, in the language of the person at it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairlead.channels.terminal
from fairlead.api import ServerAway
from fairlead.channels.terminal.away import describe_away
from fairlead.channels.terminal.commands import CommandLine
from fairlead.cli.chat import terminal_language
from fairlead.render.words import CATALOGUES, say
from fairlead.settings import Settings

SPEAKING = [
    Path(fairlead.channels.terminal.__path__[0]) / f"{name}.py"
    for name in ("chat", "live_view", "screen", "questions", "piped", "project_choice", "away", "commands")
]
STYLES = {"bold ansigreen", "bold yellow", "bold red"}
_SENTENCE = re.compile(r"^(?!/).*[A-Za-z]{2,} [a-z]{2,}", re.DOTALL)  # a command is no sentence


def literals(source: Path) -> Iterator[tuple[str, str]]:
    """Every string in the code that is neither a docstring nor what an assertion says to us."""
    tree = ast.parse(source.read_text())
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        is_bare = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_assertion = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "AssertionError"
        if is_bare or is_assertion or isinstance(node, ast.Assert):
            skipped.update(ast.walk(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield f"{source.name}:{node.lineno}", node.value


@pytest.mark.parametrize("source", SPEAKING, ids=lambda source: source.name)
def test_no_sentence_stands_in_the_code(source: Path):
    found = [(where, text) for where, text in literals(source) if _SENTENCE.search(text) and text not in STYLES]
    assert found == []


@pytest.mark.parametrize("lang", CATALOGUES)
def test_help_describes_every_command_with_the_words_of_the_other_channels(lang: str):
    commands = CommandLine(lang=lang)
    lines = commands.help_lines()
    assert len(lines) == len(commands.names)
    assert any(re.fullmatch(rf"/status {{2,}}{re.escape(say(lang, 'command.status'))}", line) for line in lines)
    assert lines[-1].endswith(say(lang, "terminal.quit"))


@pytest.mark.parametrize("lang", CATALOGUES)
def test_a_fairlead_that_does_not_respond_is_told_with_what_that_means(lang: str):
    away = ServerAway("http://127.0.0.1:1", "connection refused")
    alone = describe_away(away, lang)
    assert "http://127.0.0.1:1" in alone
    assert "connection refused" in alone
    assert describe_away(away, lang, "nothing_sent").startswith(alone)
    assert describe_away(away, lang, "nothing_sent").endswith(say(lang, "terminal.nothing_sent"))


@pytest.mark.parametrize(
    ("environment", "lang"),
    [
        ({}, "en"),
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh-TW"),
        ({"LANG": "ja_JP.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8", "LC_ALL": "zh_CN.UTF-8"}, "zh-CN"),
        ({"LC_ALL": "", "LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"FAIRLEAD_LANG": "en", "LANG": "ja_JP.UTF-8"}, "en"),
        ({"FAIRLEAD_LANG": "zh-TW"}, "zh-TW"),
    ],
)
def test_the_setting_decides_the_language_and_else_the_locale(environment: dict[str, str], lang: str):
    given = {name: value for name, value in environment.items() if name == "FAIRLEAD_LANG"}
    assert terminal_language(Settings(_env_file=None, **given), environment) == lang
