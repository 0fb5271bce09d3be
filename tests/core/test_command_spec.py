"""What a command is: how its arguments are read, completed and named in refusals, and which mistakes are caught."""

from typing import Any

import pytest

from fairlead.core import replies, requests
from fairlead.core.command_spec import (
    ApiRoute,
    Argument,
    Choice,
    CommandCatalogue,
    CommandSpec,
    choices_for,
    request_from,
    sentence_gaps,
)
from fairlead.core.commands import COMMANDS
from fairlead.errors import Code, FairleadError

pytestmark = pytest.mark.req("A12")


def command(words: str) -> CommandSpec:
    spec = COMMANDS.find(words)
    assert spec is not None
    return spec


# --- arguments


def test_lists_have_commas_and_objects_are_json():
    typed = {"name": "api", "path": "/srv", "tools": " claude, echo ,", "default_tool": "echo"}
    args = '{"claude": ["--model", "opus"]}'
    assert request_from(command("project create"), {**typed, "args": args}) == requests.ProjectCreate(
        name="api", path="/srv", tools=("claude", "echo"), default_tool="echo", args={"claude": ("--model", "opus")}
    )


@pytest.mark.parametrize("args", ["{", '{"echo": "--x y"}', '["--x"]', "nothing"])
def test_an_argument_that_is_not_understood_is_named_with_an_example(args: str):
    typed = {"name": "api", "path": "/srv", "tools": "echo", "default_tool": "echo", "args": args}
    with pytest.raises(FairleadError, match=r"args_json must be an object of lists\.$") as caught:
        request_from(command("project create"), typed)
    assert caught.value.code is Code.E_INVALID_ARGS
    assert '{"claude": ["--model", "opus"]}' in caught.value.next_step


def test_an_optional_argument_that_is_left_blank_keeps_its_default():
    assert request_from(command("session list"), {"project": " "}) == requests.SessionList()
    assert request_from(command("cancel"), {}) == requests.Cancel()


def test_the_limits_of_a_field_hold_for_what_is_typed():
    with pytest.raises(FairleadError) as caught:
        request_from(
            command("project create"),
            {"name": "x", "path": "/srv", "tools": "echo", "default_tool": "echo", "args": "["},
        )
    assert caught.value.code is Code.E_INVALID_ARGS


def test_words_decide_fields_and_channels_bring_some():
    assert request_from(command("agent kill"), {}) == requests.AgentStop(kill=True)
    started = request_from(command("agent start"), {"project": 3}, asked_by="77")
    assert started == requests.Start("77", "3", agent_first=True)


@pytest.mark.parametrize(
    ("words", "typed", "gaps"),
    [
        ("project switch", {"project": "3"}, {"id": "3"}),
        ("project switch", {"project": "a" * 80}, {"project": "a" * 60}),
        ("agent start", {"project": 3}, {"id": "3"}),
        ("project add", {"path": "/" * 300}, {"path": "/" * 200}),
        ("retry", {"job_id": "job_1"}, {"job": "job_1"}),
        ("session list", {}, {}),
        ("why", {"subject": "job_1"}, {}),
    ],
)
def test_what_was_typed_fills_the_gaps_of_a_refusal(words: str, typed: dict[str, Any], gaps: dict[str, str]):
    assert sentence_gaps(command(words), typed) == gaps


def test_choices_are_looked_up_or_stand_in_the_specification():
    tools = Argument(field="tools", kind="list", choices="any_tool")
    known = [Choice("claude"), Choice("echo")]
    assert choices_for(tools, "echo, cl", lambda _source, _typed: known) == [Choice("echo,claude")]
    fixed = Argument(field="how", choices=("quick", "thorough"))
    assert choices_for(fixed, " TH", lambda _source, _typed: []) == [Choice("thorough")]


# --- the catalogue


@pytest.mark.parametrize("spec", COMMANDS.specs, ids=lambda spec: spec.words)
def test_a_command_that_a_line_offers_has_a_route(spec: CommandSpec):
    same = [other for other in COMMANDS.specs if other.request is spec.request]
    assert "line" not in spec.ways or any(other.routes for other in same)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (requests.ProjectList(), "project list"),
        (requests.AgentStop(), "agent stop"),
        (requests.AgentStop(kill=True), "agent kill"),
        (requests.Start("1"), "start"),
    ],
)
def test_a_request_leads_to_the_command_that_asks_for_it(request_: requests.Request, words: str):
    spec = COMMANDS.spec_of(request_)
    assert spec is not None
    assert spec.words == words


def a_spec(**different: Any) -> CommandSpec:
    usual: dict[str, Any] = {"words": "count", "request": requests.ProjectStatus, "reply": replies.ProjectReport}
    return CommandSpec(**(usual | different))


@pytest.mark.parametrize(
    ("different", "mistake"),
    [
        ({"arguments": (Argument(field="projct"),)}, "has no"),
        ({"fixed": {"kill": True}}, "has no"),
        ({"arguments": (Argument(field="project", required=False),)}, "has no default"),
        ({"routes": (ApiRoute(method="GET", path="/v1/count/{project}"),)}, "no argument"),
        (
            {
                "arguments": (Argument(field="project", kind="list"),),
                "routes": (ApiRoute(method="GET", path="/v1/count"),),
            },
            "a query takes no lists",
        ),
    ],
)
def test_a_specification_that_contradicts_its_structs_is_refused_at_once(different: dict[str, Any], mistake: str):
    with pytest.raises(AssertionError, match=mistake):
        a_spec(**different)


def test_two_commands_cannot_have_the_same_words_or_one_request_two_rules():
    with pytest.raises(AssertionError, match="same words"):
        CommandCatalogue((a_spec(), a_spec()))
    with pytest.raises(AssertionError, match="two rules"):
        CommandCatalogue((a_spec(), a_spec(words="other", who="the owner")))


def test_an_operation_is_named_after_its_route_unless_it_has_a_published_name():
    assert ApiRoute(method="GET", path="/v1/jobs/{job_id}/log").operation_id == "get_jobs_log"
    assert ApiRoute(method="GET", path="/v1/agent/usage", operation="get_usage").operation_id == "get_usage"
