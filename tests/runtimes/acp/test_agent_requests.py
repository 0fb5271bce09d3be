"""An agent asks for permission, a person decides, and the agent gets the option that the person meant."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.decide.questions import narrow_rule
from fairlead.core.engine import AskedItem, Option, PermissionRequested, PlanProposed, QuestionRequested, Suggestion
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.agent_requests import AgentRequest, permission_request
from fairlead.runtimes.acp.quirks import Quirks, quirks_of
from fairlead.runtimes.ask_details import DETAIL
from tests.runtimes.acp.harness import allow, choose, deny
from tests.support.scripted_acp.permissions import OPTION_SETS

pytestmark = pytest.mark.req("B4")

COMMAND = wire.RequestedCall(tool_call_id="t", kind="execute", title="rm -rf build", raw_input={"command": "rm -rf b"})


def options(name: str) -> tuple[wire.PermissionChoice, ...]:
    return tuple(wire.PermissionChoice(option, label, kind) for option, label, kind in OPTION_SETS[name])


def request_for(
    offered: tuple[wire.PermissionChoice, ...], call: wire.RequestedCall = COMMAND, narrow: str = ""
) -> AgentRequest:
    return permission_request("r", wire.PermissionParams("s", call, offered), Quirks(narrow_allow=narrow))


def chosen_in(outcome: dict[str, Any]) -> str:
    said = outcome["outcome"]
    return said["optionId"] if said["outcome"] == "selected" else f"({said['outcome']})"


# --- which option ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "allowed", "denied"),
    [
        ("default", "once", "reject"),
        ("once", "allow-once", "reject"),
        ("four", "once", "reject"),
        ("always-first", "proceed_once", "cancel"),
        ("two-always", "proceed_once", "cancel"),
        ("allow", "once", "(cancelled)"),
    ],
)
def test_one_way_to_allow_once_is_a_question_of_yes_or_no(name: str, allowed: str, denied: str):
    request = request_for(options(name))
    assert isinstance(request.ask, PermissionRequested)
    assert chosen_in(request.respond(allow(request.ask))) == allowed
    assert chosen_in(request.respond(allow(request.ask, remember=True))) == allowed
    assert chosen_in(request.respond(deny(request.ask))) == denied


@pytest.mark.parametrize(
    ("name", "labels", "denied"),
    [
        ("two-once", ("Yes, and allow all edits", "Yes, this once", "No"), "reject"),
        ("always", ("Always allow", "Never allow"), "never"),
        ("reject", ("Reject",), "reject"),
        ("none", (), "(cancelled)"),
    ],
)
def test_where_fairlead_would_have_to_guess_the_person_names_the_option(
    name: str, labels: tuple[str, ...], denied: str
):
    request = request_for(options(name))
    assert isinstance(request.ask, QuestionRequested)
    [item] = request.ask.items
    assert (item.text, item.options) == ("Bash: rm -rf b", tuple(map(Option, labels)))
    by_name = {label: option for option, label, _ in OPTION_SETS[name]}
    for label in labels:
        assert chosen_in(request.respond(choose(label)(request.ask))) == by_name[label]
        assert chosen_in(request.respond(allow(request.ask, message=label))) == by_name[label]
    for unclear in (deny(request.ask), allow(request.ask), choose("whatever")(request.ask)):
        assert chosen_in(request.respond(unclear)) == denied


def test_the_option_that_is_known_to_be_narrow_is_taken_for_a_plain_yes():
    request = request_for(options("two-once"), narrow="allow-this")
    assert isinstance(request.ask, PermissionRequested)
    assert chosen_in(request.respond(allow(request.ask))) == "allow-this"
    unknown = request_for(options("two-once"), narrow="from-another-version")
    assert isinstance(unknown.ask, QuestionRequested)
    always = request_for(options("always"), narrow="always")
    assert isinstance(always.ask, QuestionRequested), "a standing option is never taken for a plain yes"


def test_options_of_the_same_name_can_be_told_apart():
    offered = (
        wire.PermissionChoice("a", "Yes", "allow_once"),
        wire.PermissionChoice("b", "Yes", "allow_once"),
        wire.PermissionChoice("c", None, "reject_once"),
    )
    request = request_for(offered)
    assert isinstance(request.ask, QuestionRequested)
    labels = [option.label for option in request.ask.items[0].options]
    assert labels == ["Yes (a)", "Yes (b)", "c"]
    assert [chosen_in(request.respond(choose(label)(request.ask))) for label in labels] == ["a", "b", "c"]


kinds = st.sampled_from(["allow_once", "allow_always", "reject_once", "reject_always", "from_the_future", "", None])
offers = st.lists(
    st.builds(
        wire.PermissionChoice,
        option_id=st.sampled_from("abcdefgh"),
        name=st.sampled_from(["Yes", "No", "Always", "", None]),
        kind=kinds,
    ),
    max_size=6,
    unique_by=lambda option: option.option_id,
).map(tuple)
narrow_ones = st.sampled_from(["", "a", "b"])


@given(offered=offers, narrow=narrow_ones, words=st.sampled_from(["", "Yes", "Always", "a"]))
def test_a_denied_request_never_selects_an_option_that_allows(
    offered: tuple[wire.PermissionChoice, ...], narrow: str, words: str
):
    request = request_for(offered, narrow=narrow)
    chosen = chosen_in(request.respond(deny(request.ask, message=words)))
    kinds_of_chosen = [option.kind or "" for option in offered if option.option_id == chosen]
    assert kinds_of_chosen or chosen == "(cancelled)"
    assert not any(kind.startswith("allow") for kind in kinds_of_chosen)


@given(offered=offers, narrow=narrow_ones, remember=st.booleans())
def test_a_plain_yes_never_selects_anything_but_the_one_option_that_allows_once(
    offered: tuple[wire.PermissionChoice, ...], narrow: str, *, remember: bool
):
    request = request_for(offered, narrow=narrow)
    chosen = chosen_in(request.respond(allow(request.ask, remember=remember)))
    once = [option.option_id for option in offered if option.kind == "allow_once"]
    if isinstance(request.ask, PermissionRequested):
        assert chosen == (narrow if narrow in once else once[0])
        assert len(once) == 1 or narrow in once
    else:
        assert not [option for option in offered if option.option_id == chosen and "allow" in (option.kind or "")]


@given(offered=offers)
def test_a_named_option_is_the_one_that_is_selected(offered: tuple[wire.PermissionChoice, ...]):
    request = request_for(offered)
    if not isinstance(request.ask, QuestionRequested):
        return
    labels = [option.label for option in request.ask.items[0].options]
    chosen = [chosen_in(request.respond(choose(label)(request.ask))) for label in labels]
    assert chosen == [option.option_id for option in offered]


# --- what a person sees ----------------------------------------------------------------------------------------------


def ask_for(call: wire.RequestedCall, offered: str = "default") -> PermissionRequested:
    ask = request_for(options(offered), call).ask
    assert isinstance(ask, PermissionRequested)
    return ask


def test_a_permission_shows_the_whole_command():
    assert ask_for(COMMAND, "two-always") == PermissionRequested(
        request_id="r",
        tool="Bash",
        title="Use Bash?",
        detail="rm -rf b",
        input={"command": "rm -rf b", "title": "rm -rf build"},
        command="rm -rf b",
        suggestions=(
            Suggestion("Always Allow in project", {"optionId": "proceed_always_project"}),
            Suggestion("Always Allow for user", {"optionId": "proceed_always_user"}),
        ),
    )


@pytest.mark.parametrize(
    ("kind", "given", "detail"),
    [
        ("execute", {"command": "ls", "cwd": "/srv"}, "ls"),
        ("execute", {"command": ["git", "commit", "-m", "two words"]}, "git commit -m 'two words'"),
        ("execute", {"cmd": "ls"}, "ls"),
        ("execute", {"command": "ls", "dangerouslyDisableSandbox": True}, "ls\n(dangerouslyDisableSandbox: true)"),
        ("execute", {"script": "ls"}, '{"script":"ls"}'),
        ("execute", {}, "the title"),
        ("execute", "ls", "the title"),
        ("edit", {"file_path": "/srv/a"}, "/srv/a"),
        ("edit", {"path": "/srv/b"}, "/srv/b"),
        ("read", {"absolute_path": "/srv/c"}, "/srv/c"),
        ("read", None, "/srv/place"),
        ("fetch", {"url": "https://example.org"}, "https://example.org"),
        ("delete", {"path": "/srv/d"}, '{"path":"/srv/d"}'),
        ("other", {"a": 1}, '{"a":1}'),
    ],
)
def test_what_a_call_is_about_is_shown_whole(kind: str, given: Any, detail: str):
    place = (wire.Location("/srv/place"),)
    call = wire.RequestedCall(tool_call_id="t", kind=kind, title="the title", raw_input=given, locations=place)
    assert ask_for(call).detail == detail


def test_two_long_commands_that_begin_alike_are_not_one_rule():
    asks = [ask_for(wire.RequestedCall(kind="execute", raw_input={"command": "x" * DETAIL + end})) for end in "ab"]
    assert asks[0].detail.startswith("x" * DETAIL)
    assert narrow_rule(asks[0]) != narrow_rule(asks[1])


def test_the_agents_own_sentence_is_the_title_unless_it_is_long():
    def titled(words: str) -> str:
        content = (wire.ToolContent(type="content", content=wire.Content(type="text", text=words)),)
        return ask_for(wire.RequestedCall(kind="execute", title="ls", content=content)).title

    assert titled("List the files ") == "List the files"
    assert titled("one\ntwo") == titled("x" * 201) == titled("") == "Use Bash?"


def test_an_edit_shows_its_diff():
    content = (wire.ToolContent(type="diff", path="a.py", old_text="one\n", new_text="two\n"),)
    ask = ask_for(wire.RequestedCall(kind="edit", raw_input={"file_path": "a.py"}, content=content))
    assert ask.diff.splitlines()[-2:] == ["-one", "+two"]


# --- plans -----------------------------------------------------------------------------------------------------------

PLAN = wire.RequestedCall(
    tool_call_id="t",
    kind="switch_mode",
    title="Ready to code?",
    content=(wire.ToolContent(type="content", content=wire.Content(type="text", text="1. read\n2. write")),),
)


def test_a_plan_is_shown_as_one_and_approved_for_this_once():
    request = request_for(options("always-first"), PLAN)
    assert request.ask == PlanProposed("r", "1. read\n2. write")
    assert chosen_in(request.respond(allow(request.ask))) == "proceed_once"
    assert chosen_in(request.respond(deny(request.ask))) == "cancel"


@pytest.mark.parametrize("name", ["two-once", "always"])
def test_a_plan_that_can_be_approved_in_several_ways_is_approved_by_name(name: str):
    request = request_for(options(name), PLAN)
    assert isinstance(request.ask, QuestionRequested)
    [item] = request.ask.items
    assert item.text == "1. read\n2. write"
    for option, label, _ in OPTION_SETS[name]:
        assert chosen_in(request.respond(choose(label)(request.ask))) == option


def test_a_change_of_mode_without_a_plan_is_a_permission():
    assert ask_for(wire.RequestedCall(kind="switch_mode", title="Leave plan mode")).tool == "switch_mode"


# --- as real agents ask ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["file_path", "filePath", "filepath", "fileName", "path"])
def test_an_edit_is_about_its_file_whatever_the_agent_calls_the_argument(name: str):
    call = wire.RequestedCall(tool_call_id="t", kind="edit", raw_input={name: "/srv/a.txt", "diff": "\n+hello\n"})
    ask = request_for(options("default"), call).ask
    assert isinstance(ask, PermissionRequested)
    assert (ask.detail, ask.diff) == ("/srv/a.txt", "+hello")


QUESTIONS = [
    {"question": "Which colour?", "header": "Colour", "options": [{"label": "red"}, {"label": "blue"}]},
    {"question": "Which sizes?", "options": [{"label": "S", "description": "small"}], "multiSelect": True},
]


def questions_of_qwen(questions: Any) -> AgentRequest:
    meta = {"qwenInteractionKind": "user_question", "qwenQuestions": questions}
    call = wire.RequestedCall(tool_call_id="t", kind="think", raw_input={"questions": questions}, meta=meta)
    offered = (
        wire.PermissionChoice("proceed_once", "Submit", "allow_once"),
        wire.PermissionChoice("cancel", "Cancel", "reject_once"),
    )
    return permission_request("r", wire.PermissionParams("s", call, offered), quirks_of("qwen-code"))


def test_question_meta_a_question_in_the_shape_of_a_permission_is_a_question():
    request = questions_of_qwen(QUESTIONS)
    colour = AskedItem("Which colour?", (Option("red"), Option("blue")), "Colour")
    sizes = AskedItem("Which sizes?", (Option("S", "small"),), several=True)
    assert request.ask == QuestionRequested("r", (colour, sizes))
    assert request.tool == ""  # no tier forbids an agent to ask

    both = allow(request.ask, chosen={"Which colour?": "blue", "Which sizes?": "S"})
    assert request.respond(both) == {
        "outcome": {"outcome": "selected", "optionId": "proceed_once"},
        "answers": {"0": "blue", "1": "S"},
    }
    typed = request.respond(allow(request.ask, message="green"))
    assert (chosen_in(typed), typed["answers"]) == ("proceed_once", {"0": "green"})
    assert request.respond(deny(request.ask)) == {"outcome": {"outcome": "selected", "optionId": "cancel"}}
    assert chosen_in(request.respond(allow(request.ask))) == "cancel"


@pytest.mark.parametrize("odd", [None, [], "?", [{"header": "no question"}], {"question": "no list"}])
def test_question_meta_questions_of_an_unknown_shape_stay_a_permission(odd: Any):
    assert isinstance(questions_of_qwen(odd).ask, PermissionRequested)


def test_narrow_allow_of_qwen_is_the_option_that_changes_no_mode():
    request = permission_request("r", wire.PermissionParams("s", COMMAND, options("qwen-auto")), quirks_of("qwen-code"))
    assert isinstance(request.ask, PermissionRequested)
    assert chosen_in(request.respond(allow(request.ask))) == "proceed_once"
