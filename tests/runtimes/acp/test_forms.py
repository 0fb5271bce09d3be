"""Forms of an agent: every type of property as a question, and what a person says as its value."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairlead.core.engine import AskedItem, Option, QuestionRequested
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.agent_requests import AgentRequest
from fairlead.runtimes.acp.forms import UnfitResponse, form_request
from tests.runtimes.acp.harness import allow, choose, deny
from tests.support.scripted_acp.questions import CLAUDE, PROPERTIES

pytestmark = pytest.mark.req("B4")

MESSAGE = "What would you like?"
COLOURS = (Option("Red", "Like a rose"), Option("Blue", "Like the sea"))


def form(properties: dict[str, Any], *, message: str = MESSAGE, required: tuple[str, ...] = ()) -> AgentRequest:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    request = form_request("r", wire.ElicitationParams(message=message, mode="form", requested_schema=schema))
    assert request is not None
    return request


def items_of(request: AgentRequest) -> tuple[AskedItem, ...]:
    assert isinstance(request.ask, QuestionRequested)
    return request.ask.items


def content_of(request: AgentRequest, *labels: str, **more: Any) -> Any:
    said = request.respond(choose(*labels, **more)(request.ask))
    assert said["action"] == "accept"
    return said["content"]


@pytest.mark.parametrize(
    ("name", "item", "said", "value"),
    [
        ("enum", AskedItem(MESSAGE, (Option("red"), Option("blue")), "Colour"), "blue", "blue"),
        ("titled", AskedItem(MESSAGE, COLOURS, "Colour"), "Blue", "blue"),
        ("titled", AskedItem(MESSAGE, COLOURS, "Colour"), "BLUE", "blue"),
        (
            "multi",
            AskedItem(MESSAGE, (Option("red"), Option("blue"), Option("green")), "Colours", several=True),
            "green, red",
            ["red", "green"],
        ),
        ("multi-titled", AskedItem(MESSAGE, COLOURS, "Colours", several=True), "Blue", ["blue"]),
        ("boolean", AskedItem(MESSAGE, (Option("Yes"), Option("No")), "Sure?"), "Yes", True),
        ("boolean", AskedItem(MESSAGE, (Option("Yes"), Option("No")), "Sure?"), "No", False),
        ("boolean", AskedItem(MESSAGE, (Option("Yes"), Option("No")), "Sure?"), "true", True),
        ("number", AskedItem(MESSAGE, (), "How much?"), "2.5", 2.5),
        ("integer", AskedItem(MESSAGE, (), "How many?"), " 3 ", 3),
        ("text", AskedItem(MESSAGE, (), "Name"), "Bob, and more", "Bob, and more"),
        ("email", AskedItem(MESSAGE, (), "Address"), "bob@example.org", "bob@example.org"),
    ],
)
def test_every_type_of_property_is_a_question_and_its_answer_a_value(name: str, item: AskedItem, said: str, value: Any):
    request = form({"p": PROPERTIES[name]}, required=("p",))
    assert items_of(request) == (item,)
    assert content_of(request, said) == {"p": value}
    typed = request.respond(allow(request.ask, message=said))
    assert typed == {"action": "accept", "content": {"p": value}}
    assert request.respond(deny(request.ask)) == {"action": "decline"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("integer", "many"),
        ("integer", "2.5"),
        ("number", "nan"),
        ("number", "inf"),
        ("number", "1,5"),
        ("boolean", "perhaps"),
        ("enum", "green"),
        ("multi", "red, purple"),
    ],
)
@pytest.mark.parametrize("required", [("p",), ()])
def test_words_that_do_not_fit_are_never_sent_as_something_else(name: str, said: str, required: tuple[str, ...]):
    request = form({"p": PROPERTIES[name]}, required=required)
    with pytest.raises(UnfitResponse, match=said.rpartition(", ")[2]):
        request.respond(choose(said)(request.ask))


def test_several_properties_are_several_questions_after_the_agents_message():
    request = form({"a": PROPERTIES["enum"], "b": PROPERTIES["text"], "c": PROPERTIES["integer"]})
    assert [item.text for item in items_of(request)] == [f"{MESSAGE}\nColour", "Any name", "How many?"]
    assert content_of(request, "red", "Bob", "3") == {"a": "red", "b": "Bob", "c": 3}
    assert content_of(request, "red") == {"a": "red"}
    assert content_of(request, message="blue") == {"a": "blue"}, "typed words answer the first question"
    assert content_of(request, "red", "Bob", message="red\nBob") == {"a": "red", "b": "Bob"}, "Discord tells both"


def test_a_required_property_that_nothing_was_said_about_is_told():
    request = form({"a": PROPERTIES["enum"], "b": PROPERTIES["text"]}, required=("a", "b"))
    with pytest.raises(UnfitResponse, match="'Name'"):
        request.respond(choose("red")(request.ask))


def test_questions_with_the_same_words_can_be_told_apart():
    same = {"type": "string", "title": "Other", "description": "Anything"}
    request = form({"a": same, "b": same}, message="")
    assert [item.text for item in items_of(request)] == ["Anything (a)", "Anything (b)"]
    assert content_of(request, "one", "two") == {"a": "one", "b": "two"}


def test_claudes_fields_for_own_words_belong_to_their_questions():
    request = form(CLAUDE, message="Please answer.")
    colour, sizes = items_of(request)
    assert (colour.text, colour.options, colour.several) == ("Please answer.\nWhich colour?", COLOURS, False)
    assert (sizes.text, sizes.options, sizes.several) == ("Which sizes?", COLOURS, True)
    assert content_of(request, "Red", "Blue, Red") == {"question_0": "red", "question_1": ["red", "blue"]}
    assert content_of(request, "green", "Red, huge") == {
        "question_0_custom": "green",
        "question_1": ["red"],
        "question_1_custom": "huge",
    }


def test_choices_with_the_same_title_can_be_told_apart_and_keep_their_types():
    same = [{"const": 1, "title": "One"}, {"const": 2, "title": "One"}, {"const": 0}]
    request = form({"p": {"oneOf": same}})
    assert [option.label for option in items_of(request)[0].options] == ["One (1)", "One (2)", "0"]
    assert content_of(request, "One (2)") == {"p": 2}
    assert content_of(request, "0") == {"p": 0}


def test_a_list_without_choices_takes_any_words():
    request = form({"p": {"type": "array", "items": {"type": "string"}}})
    assert content_of(request, "a, b") == {"p": ["a", "b"]}


@pytest.mark.parametrize(
    "schema",
    [
        None,
        5,
        {},
        {"properties": []},
        {"properties": {"p": 5}},
    ],
)
def test_a_form_without_properties_asks_nobody(schema: Any):
    assert form_request("r", wire.ElicitationParams(message="?", requested_schema=schema)) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"]},
        {"type": 5, "enum": 7},
        {"type": "string", "oneOf": "x"},
        {"title": 5, "description": []},
        {"type": "array", "items": []},
    ],
)
def test_a_property_of_an_odd_shape_is_a_question_for_words(schema: Any):
    request = form({"p": schema}, message="")
    assert items_of(request)[0].text == "p"
    assert content_of(request, "words")["p"] in ("words", ["words"])


labels = st.lists(
    st.sampled_from(["a", "b", "c", "a, b", "b, c", "b, a", "A, long one"]), unique=True, min_size=1, max_size=5
)


@given(labels=labels, data=st.data())
def test_the_labels_that_a_person_chose_are_found_again_even_with_commas_in_them(labels: list[str], data: Any):
    chosen = [label for label in labels if data.draw(st.booleans())]
    assume(chosen)
    said = ", ".join(chosen)
    orders = [some for count in range(1, len(labels) + 1) for some in permutations(labels, count)]
    assume(len({", ".join(some) for some in orders}) == len(orders))  # nobody could tell `a`, `b` from `a, b`
    request = form({"p": {"type": "array", "items": {"enum": labels}}})
    assert content_of(request, said)["p"] == chosen
