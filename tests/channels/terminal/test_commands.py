"""The words after a slash."""

import re

import pytest

from fairlead.channels.terminal.commands import CommandLine, Local, message_in, spell_out
from fairlead.core import requests as r
from fairlead.errors import Code, FairleadError
from fairlead.render.words import CATALOGUES, say

LINE = CommandLine()


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
        (
            """/project create api /srv/api 'claude, echo' echo '{"echo": ["--x", "y z"]}'""",
            r.ProjectCreate(
                name="api",
                path="/srv/api",
                tools=("claude", "echo"),
                default_tool="echo",
                args={"echo": ("--x", "y z")},
            ),
        ),
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
        ("/exit", Local("quit")),
        ("/new", r.Reset()),
        ("/clear", r.Reset()),
        ("/stop", r.Cancel()),
        ("/model", r.AgentModel()),
        ("/model opus", r.AgentModel("opus")),
        ("/tool", r.Tool()),
        ("/project", r.ProjectList()),
        ("/session", r.SessionList()),
        ("/agent", r.AgentStatus()),
        ("/agent mode", r.AgentMode()),
        ("/jobs", r.LatestJobs()),
        ("/why", r.Why()),
        ("/why #3", r.Why("#3")),
        ("/retry", r.Retry()),
        ("/retry 3", r.Retry("3")),
        ("/changes 3", r.Changes("3")),
        ("/undo 3 since", r.Undo("3", "since")),
        ("/undo what:files", r.Undo(what="files")),
        ("/session switch", r.SessionSwitch()),
    ],
)
def test_every_command_is_understood(line: str, request_: object):
    assert LINE.is_command(line)
    assert LINE.parse(line) == request_


@pytest.mark.parametrize("line", ["/tool a b", "/status now", "/project shop", "/project add", "/why 'x", "/statsu"])
def test_a_wrong_command_says_how_it_is_meant(line: str):
    assert LINE.is_command(line)
    with pytest.raises(FairleadError) as caught:
        LINE.parse(line)
    assert caught.value.code == Code.E_INVALID_ARGS


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ("/agent start 1", r.Start("", project="1", agent_first=True)),
        ("/agent start api goose", r.Start("", project="api", tool="goose", agent_first=True)),
        ("/agent command compact 'now, please'", r.AgentSlashCommand("", "compact", "now, please")),
    ],
)
def test_a_request_with_an_id_of_its_own_gets_it_from_the_server(line: str, request_: r.Request):
    assert LINE.parse(line) == request_


def test_a_text_that_may_be_left_out_is_the_rest_of_the_line_or_nothing():
    assert LINE.usage("/steer") == "/steer [TEXT|JOB]"
    for line, text in (("/steer", ""), ("/steer use make  instead", "use make  instead"), ("/steer text:x", "text:x")):
        parsed = LINE.parse(line)
        assert isinstance(parsed, r.SteerTurn)
        assert parsed.text == text


def test_a_slip_of_the_fingers_is_recognised():
    with pytest.raises(FairleadError, match="Unknown command: /projct list") as caught:
        LINE.parse("/projct list")
    assert "Did you mean /project list?" in caught.value.next_step


def test_a_command_that_only_other_channels_have_is_not_said_to_the_agent():
    assert LINE.is_command("/start api worktree:yes")
    with pytest.raises(FairleadError, match="Unknown command: /start") as caught:
        LINE.parse("/start api worktree:yes")
    assert "Did you mean /agent start?" in caught.value.next_step


@pytest.mark.parametrize(
    "line", ["hello", "/etc/passwd holds what?", "/ask rm -rf build", "//status", "/status\nof it"]
)
def test_everything_else_is_a_message(line: str):
    assert not LINE.is_command(line)


def test_two_slashes_say_a_slash_to_the_agent():
    assert message_in("//help me") == "/help me"
    assert message_in("help me") == "help me"


def test_completion_knows_every_command():
    assert LINE.completions("/sta") == ["/status"]
    assert LINE.completions("/agent mod") == ["/agent model", "/agent mode"]
    assert LINE.completions("pro") == []
    assert len(LINE.help_lines()) == len(LINE.completions("/"))


@pytest.mark.parametrize(
    ("typed", "command", "field", "word"),
    [
        ("/agent model ", "agent model", "model", ""),
        ("/agent mode pl", "agent mode", "mode", "pl"),
        ("/project switch a", "project switch", "project", "a"),
        ("/session list ", "session list", "project", ""),
        ("/retry job_1", "retry", "job_id", "job_1"),
        ("/project create api  /srv/api echo,", "project create", "tools", "echo,"),
        ("/project create api /srv/api echo ", "project create", "default_tool", ""),
    ],
)
def test_an_argument_with_choices_is_known_while_it_is_typed(typed: str, command: str, field: str, word: str):
    half_typed = LINE.half_typed(typed)
    assert half_typed is not None
    assert (half_typed.command, half_typed.argument.field, half_typed.word) == (command, field, word)


@pytest.mark.parametrize("typed", ["/agent model", "/status ", "/project add /s", "/tool echo ", "hello /tool "])
def test_what_has_no_choices_is_left_to_the_person(typed: str):
    assert LINE.half_typed(typed) is None


def test_help_shows_how_each_command_is_used_in_the_readers_language():
    shown = dict(line.split("  ", 1) for line in LINE.help_lines())
    assert shown["/cancel [JOB] [children:yes]"].strip() == "Cancel running and queued jobs here"
    assert "/project create NAME PATH TOOLS DEFAULT_TOOL [ARGS_JSON]" in shown
    assert any(line.endswith("セッションの使用量情報を表示する") for line in CommandLine(lang="ja").help_lines())


@pytest.mark.parametrize("lang", CATALOGUES)
def test_help_describes_every_command_with_the_words_of_the_other_channels(lang: str):
    commands = CommandLine(lang=lang)
    lines = commands.help_lines()
    assert len(lines) == len(commands.names)
    assert any(re.fullmatch(rf"/status {{2,}}{re.escape(say(lang, 'command.status'))}", line) for line in lines)
    assert lines[-1].endswith(say(lang, "terminal.quit"))


def test_help_on_a_narrow_screen_has_each_description_below_its_command():
    lines = LINE.help_lines(45)
    assert lines[:2] == ["/status", "    Show the state of this session"]
    assert len(lines) == 2 * len(LINE.names)


def test_help_begins_a_group_with_its_bare_word():
    usages = LINE.help_lines(45)[::2]
    for group in ("/project", "/session", "/agent", "/rules"):
        assert [usage.split()[0] for usage in usages].index(group) == usages.index(group)


def test_words_that_mean_leaving_everywhere_need_no_slash():
    assert [spell_out(line) for line in ("exit", " Quit ", "?", "exit the loop", "/why")] == [
        "/exit", "/quit", "/help", "exit the loop", "/why",
    ]  # fmt: skip


@pytest.mark.req("D4")
@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ("/spawn count the files", r.Spawn(asked_by="", task="count the files")),
        ("/spawn  don't  count", r.Spawn(asked_by="", task="don't  count")),
        ("/spawn project:api count", r.Spawn(asked_by="", task="count", project="api")),
        ("/spawn count it agent:codex", r.Spawn(asked_by="", task="count it", agent="codex")),
        ("/spawn agent:codex count project:api", r.Spawn(asked_by="", task="count", project="api", agent="codex")),
        ("/spawn fix task:1 now", r.Spawn(asked_by="", task="fix task:1 now")),
        ("/spawn set agent:x here", r.Spawn(asked_by="", task="set agent:x here")),
        ("/cancel children:yes", r.Cancel(children=True)),
        ("/cancel 14 children:no", r.Cancel("14")),
        ("/cancel 14 yes", r.Cancel("14", children=True)),
    ],
)
def test_a_task_is_the_rest_of_the_line_and_arguments_may_have_their_names(line, request_):
    assert LINE.parse(line) == request_


@pytest.mark.parametrize("line", ["/spawn", "/spawn project:api", "/cancel children:perhaps"])
def test_a_task_without_words_and_a_yes_that_is_none_are_refused(line):
    with pytest.raises(FairleadError) as refused:
        LINE.parse(line)
    assert refused.value.code is Code.E_INVALID_ARGS


def test_the_names_of_arguments_are_completed_in_a_task():
    half = LINE.half_typed("/spawn count project:a")
    assert half is not None
    assert (half.argument.field, half.word) == ("project", "a")
    assert LINE.half_typed("/spawn count a") is None


@pytest.mark.req("E10")
def test_an_option_of_a_schedule_may_be_named():
    typed = '/schedule add "every weekday at 9" "look at a=b" ring=never check="test -f go"'
    assert CommandLine().parse(typed) == r.ScheduleAdd(
        when="every weekday at 9", text="look at a=b", ring="never", check="test -f go"
    )
    with pytest.raises(FairleadError, match="ring must be"):
        CommandLine().parse('/schedule add "every day at 9" look ring=loudly')
    with pytest.raises(FairleadError, match="E_INVALID_ARGS"):
        CommandLine().parse("/schedule add every day at 9 look at it please and do not forget anything at all")


def test_a_sentence_that_begins_with_the_name_of_an_option_is_a_sentence():
    asked = LINE.parse('/schedule add "0 9 * * *" "check: is the build green?" zone:UTC')
    assert asked == r.ScheduleAdd(when="0 9 * * *", text="check: is the build green?", zone="UTC")


def test_an_option_is_completed_after_either_sign():
    for typed in ("/schedule add a b ring:ne", "/schedule add a b ring=ne"):
        half_typed = LINE.half_typed(typed)
        assert half_typed is not None
        assert (half_typed.argument.field, half_typed.word) == ("ring", "ne")


@pytest.mark.req("H2")
def test_a_path_begins_where_the_person_stands_unless_it_is_on_another_machine():
    line = CommandLine(directory="/home/ann/work")
    assert line.parse("/project add shop") == r.ProjectAdd("/home/ann/work/shop")
    assert line.parse("/project add gpu:~/trainer") == r.ProjectAdd("gpu:~/trainer")
    assert line.parse("/project add gpu:/srv/trainer") == r.ProjectAdd("gpu:/srv/trainer")
