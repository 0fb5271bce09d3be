"""The words after a slash."""

import pytest

from fairlead.channels.terminal.commands import (
    Local,
    agent_completions,
    completed_by_agent,
    completions,
    help_lines,
    is_command,
    message_in,
    parse,
)
from fairlead.core import requests as r
from fairlead.core.replies import AgentReport
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
        ("/agent status", r.AgentStatus()),
        ("/agent model opus", r.AgentModel("opus")),
        ("/agent mode plan", r.AgentMode("plan")),
        ("/agent usage", r.AgentUsage()),
        ("/agent stop", r.AgentStop()),
        ("/agent kill", r.AgentStop(kill=True)),
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


def test_what_only_other_channels_need_is_told_with_what_to_do_here():
    with pytest.raises(FairleadError, match="not needed here") as caught:
        parse("/agent start 1")
    assert "Your next message starts the agent" in caught.value.next_step


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


def test_the_models_and_modes_that_the_agent_offers_are_completed():
    agent = AgentReport("s", "proj", 1, "claude", "opus", "Active", 0.0, models=("opus", "sonnet"), modes=("plan",))
    assert not completed_by_agent("/agent model")
    assert completed_by_agent("/agent model so")
    assert agent_completions("/agent model so", agent) == ["/agent model sonnet"]
    assert agent_completions("/agent model sonnet", agent) == []
    assert completed_by_agent("/agent mode ")
    assert agent_completions("/agent mode ", agent) == ["/agent mode plan"]
