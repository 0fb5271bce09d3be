"""The command that a request is about: nothing where the call is more than that."""

from typing import Any

import pytest

from fairlead.runtimes.ask_details import shell_command, shell_directory


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"command": "pytest -q"}, "pytest -q"),
        ({"command": "pytest", "description": "run tests", "timeout": 9, "run_in_background": True}, "pytest"),
        ({"command": ["bash", "-lc", "pytest -q"]}, "pytest -q"),
        ({"command": ["/bin/zsh", "-c", "a; b"]}, "a; b"),
        ({"command": ["pytest", "a b"], "cwd": "/srv"}, "pytest 'a b'"),
        ({"command": ["bash", "-lc", "pytest", "x"]}, "bash -lc pytest x"),
        ({"command": ["bash", "-x", "pytest"]}, "bash -x pytest"),
        ({"cmd": "pytest"}, "pytest"),
        ({"command": "pytest", "cmd": "rm"}, ""),
        ({"command": "pytest", "dangerouslyDisableSandbox": True}, ""),
        ({"command": "pytest", "env": {"PATH": "/tmp"}}, ""),
        ({"command": "pytest", "env": {}}, "pytest"),
        ({"command": 7}, ""),
        ({}, ""),
    ],
)
def test_the_command_of_a_call(given: dict[str, Any], command: str):
    assert shell_command(given) == command


def test_the_directory_of_a_call():
    assert shell_directory({"command": "x", "workdir": "sub"}) == "sub"
    assert shell_directory({"command": "x"}) == ""
