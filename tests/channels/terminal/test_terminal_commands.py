"""The words after a slash."""

import pytest

from fairlead.channels.terminal.commands import Local, completions, help_lines, is_command, message_in, parse
from fairlead.core import requests as r
from fairlead.errors import Code, FairleadError


@pytest.mark.req("A12", "C6")
@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ("/status", r.Status()),
        ("/tool claude", r.Tool("claude")),
        ("/retry job_1", r.Retry("job_1")),
        ("/cancel", r.Cancel()),
        ("/cancel job_1", r.Cancel("job_1")),
        ("/reset", r.Reset()),
        ("/why job_1", r.Why("job_1")),
        ("/project list", r.ProjectList()),
        ("/project status api", r.ProjectStatus("api")),
        ("/project switch 2", r.ProjectSwitch("2")),
        ("/project add '/srv/my app'", r.ProjectAdd("/srv/my app")),
        ("/project create api /srv/api claude,echo echo", r.ProjectCreate("api", "/srv/api", "claude,echo", "echo")),
        ("/session list", r.SessionList()),
        ("/session list api", r.SessionList("api")),
        ("/help", Local("help")),
        ("/quit", Local("quit")),
    ],
)
def test_every_command_is_understood(line: str, request_: object):
    assert is_command(line)
    assert parse(line) == request_


@pytest.mark.parametrize(
    "line", ["/tool", "/tool a b", "/status now", "/project", "/project add", "/why 'x", "/statsu"]
)
def test_a_wrong_command_says_how_it_is_meant(line: str):
    assert is_command(line)
    with pytest.raises(FairleadError) as caught:
        parse(line)
    assert caught.value.code == Code.E_INVALID_ARGS


def test_a_slip_of_the_fingers_is_recognised():
    with pytest.raises(FairleadError, match="no command here") as caught:
        parse("/projct list")
    assert "Did you mean /project list?" in caught.value.next_step


@pytest.mark.parametrize(
    "line", ["hello", "/etc/passwd holds what?", "/ask rm -rf build", "//status", "/status\nof it"]
)
def test_everything_else_is_a_message(line: str):
    assert not is_command(line)


def test_two_slashes_say_a_slash_to_the_agent():
    assert message_in("//help me") == "/help me"
    assert message_in("help me") == "help me"


def test_completion_knows_every_command():
    assert completions("/pro") == [
        "/project list",
        "/project status",
        "/project switch",
        "/project add",
        "/project create",
    ]
    assert completions("pro") == []
    assert len(help_lines()) == len(completions("/"))
