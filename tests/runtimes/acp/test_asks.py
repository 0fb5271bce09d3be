"""An agent asks: which questions a person sees, how the answer comes back, and what is answered without a person."""

import asyncio
import json
from pathlib import Path

import pytest

from fairlead.core.decide.questions import narrow_rule
from fairlead.core.engine import (
    Ask,
    Diagnostic,
    EngineEvent,
    Noticed,
    PermissionRequested,
    QuestionRequested,
    RequestWithdrawn,
    Response,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from fairlead.runtimes.acp.asks import Asks
from fairlead.runtimes.acp.tier import Tier
from fairlead.runtimes.acp.transport import REQUEST_ID
from tests.runtimes.acp.harness import AcpStage, Respond, Talk, allow, choose, deny, until
from tests.support.runtime_contract import closing, only

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4")]


@pytest.fixture
def stage(tmp_path: Path) -> AcpStage:
    return AcpStage(tmp_path)


async def told(stage: AcpStage, prompt: str, respond: Respond | None = None) -> tuple[list[EngineEvent], str]:
    """The events of a turn in a session of its own, and its answer."""
    async with closing(stage.runtime()) as runtime:
        events = await Talk(stage, runtime).say(prompt, respond)
    assert isinstance(events[-1], TurnEnded), events[-1]
    return events, events[-1].text


def first_yes_then_no() -> Respond:
    answers = iter([allow, deny])

    def respond(ask: Ask) -> Response:
        return next(answers)(ask)

    return respond


# --- permissions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("respond", "chosen", "is_ok"), [(allow, "once", True), (deny, "reject", False)])
async def test_a_tool_runs_only_if_a_person_allows_it(stage: AcpStage, respond: Respond, chosen: str, *, is_ok: bool):
    events, text = await told(stage, "ask: execute rm -rf build", respond)
    [started], [asked], [ended] = (only(kind, events) for kind in (ToolStarted, PermissionRequested, ToolEnded))
    assert (started.name, asked.tool, asked.detail) == ("Bash", "Bash", "rm -rf build")
    assert (ended.ok, text) == (is_ok, f"Chose {chosen}")


async def test_two_questions_at_once_each_get_their_own_answer(stage: AcpStage):
    def only_b(ask: Ask) -> Response:
        assert isinstance(ask, PermissionRequested)
        return allow(ask) if ask.detail == "rm b" else deny(ask)

    events, text = await told(stage, "ask-both: execute rm a | execute rm b", only_b)
    assert len(only(PermissionRequested, events)) == 2
    assert text == "Chose reject and once"


async def test_two_calls_of_one_command_are_two_questions(stage: AcpStage):
    events, text = await told(stage, "ask-both: execute rm a | execute rm a", first_yes_then_no())
    assert len(only(PermissionRequested, events)) == 2
    assert text == "Chose once and reject"


async def test_a_permission_that_is_asked_for_again_is_asked_again(stage: AcpStage):
    events, text = await told(stage, "ask-twice: execute rm a", first_yes_then_no())
    assert [ask.detail for ask in only(PermissionRequested, events)] == ["rm a", "rm a"]
    assert text == "Chose once, then reject"


async def test_what_a_person_allowed_for_the_session_is_not_asked_again(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        events = await talk.say("ask: execute rm a\nask: execute rm a", lambda ask: allow(ask, remember=True))
        [asked] = only(PermissionRequested, events)
        assert events[-1] == TurnEnded("Chose once\n\nChose once")
        again = await talk.say("ask: execute rm a", deny, allowed=(narrow_rule(asked),))
        assert (only(PermissionRequested, again), again[-1]) == ([], TurnEnded("Chose once"))
        other = await talk.say("ask: execute rm b", deny, allowed=(narrow_rule(asked),))
        assert (len(only(PermissionRequested, other)), other[-1]) == (1, TurnEnded("Chose reject"))


async def test_a_rule_that_a_person_took_back_holds_no_longer(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        [asked] = only(PermissionRequested, await talk.say("ask: execute rm a", lambda ask: allow(ask, remember=True)))
        assert await talk.answer("ask: execute rm a", deny, allowed=(narrow_rule(asked),)) == "Chose once"
        assert await talk.answer("ask: execute rm a", deny, allowed=()) == "Chose reject"


async def test_of_several_options_of_one_kind_the_person_names_one(stage: AcpStage):
    events, text = await told(stage, "ask: [two-once] edit a.py", choose("Yes, this once"))
    [asked] = only(QuestionRequested, events)
    assert [option.label for option in asked.items[0].options] == ["Yes, and allow all edits", "Yes, this once", "No"]
    assert text == "Chose allow-this"


async def test_a_plain_yes_to_several_options_allows_nothing(stage: AcpStage):
    _, text = await told(stage, "ask: [two-once] edit a.py", allow)
    assert text == "Chose reject"


@pytest.mark.parametrize(("options", "chosen"), [("none", "(cancelled)"), ("reject", "reject"), ("always", "never")])
async def test_without_an_option_that_allows_once_nothing_is_allowed(stage: AcpStage, options: str, chosen: str):
    _, text = await told(stage, f"ask: [{options}] execute rm a", allow)
    assert text == f"Chose {chosen}"


# --- questions -------------------------------------------------------------------------------------------------------


async def test_a_form_becomes_a_question_and_the_answers_a_form(stage: AcpStage):
    events, text = await told(stage, "form: enum boolean", choose("red", "Yes"))
    [asked] = only(QuestionRequested, events)
    assert len(asked.items) == 2
    assert text == 'Form: accept {"boolean": true, "enum": "red"}'


async def test_a_form_that_a_person_declines_is_declined(stage: AcpStage):
    _, text = await told(stage, "form: enum", deny)
    assert text == "Form: decline"


async def test_answers_that_do_not_fit_are_told_and_not_sent(stage: AcpStage):
    events, text = await told(stage, "form: integer", choose("seven"))
    assert text == "Form: cancel"
    assert "did not get your answers" in only(Noticed, events)[-1].text


async def test_a_question_in_a_form_that_fairlead_does_not_offer_is_declined_and_kept(stage: AcpStage):
    events, text = await told(stage, 'call: elicitation/create {"mode": "url", "url": "https://example.org"}')
    assert text == 'elicitation/create: result {"action": "decline"}'
    assert any("in an unsupported form" in event.text for event in only(Diagnostic, events))


async def test_a_request_of_another_kind_is_refused_with_its_code(stage: AcpStage):
    methods = (
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/output",
        "craft/drainMidTurnQueue",
    )
    _, text = await told(stage, "\n".join(f'call: {method} {{"path": "/etc/hosts"}}' for method in methods))
    assert text.split("\n\n") == [f"{method}: error -32601" for method in methods]


async def test_neither_files_nor_terminals_are_offered(stage: AcpStage):
    await told(stage, "hello")
    [initialize] = stage.noted("request", "initialize")
    can = initialize["params"]["clientCapabilities"]
    assert can["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert not can.get("terminal")
    assert "form" in can["elicitation"]


# --- nobody is there to respond --------------------------------------------------------------------------------------


@pytest.mark.parametrize("like", ["claude", "gemini", "opencode"])
async def test_a_cancelled_turn_answers_what_is_open_with_cancelled(tmp_path: Path, like: str):
    stage = AcpStage(tmp_path, like=like)
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        working = asyncio.create_task(
            talk.say("ask: execute rm a", lambda ask: Response(request_id="x", verdict="deny"))
        )
        await talk.until_heard(lambda event: isinstance(event, PermissionRequested | QuestionRequested))
        await talk.interrupt()
        last = (await working)[-1]
        assert isinstance(last, TurnEnded)
        assert last.stop_reason == "interrupted"
        assert await talk.answer("hello") == "You said: hello"
    [response] = [note for note in stage.noted("response") if "outcome" in note.get("result", {})]
    assert response["result"] == {"outcome": {"outcome": "cancelled"}}


async def test_what_is_asked_after_the_cancel_is_cancelled_without_a_person(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        working = talk.begin("ask-after-cancel: execute rm a", allowed=("Bash:rm a",))
        await stage.until_noted("request", "session/prompt")
        await talk.interrupt()
        events = await working
        assert only(PermissionRequested, events) == []
        assert events[-1] == TurnEnded("After the cancel: (cancelled)", "interrupted")
        assert await talk.answer("ask: execute rm a") == "Chose once"


async def test_a_question_that_the_agent_withdraws_is_taken_from_the_person(stage: AcpStage):
    call = {"toolCallId": "t", "kind": "execute", "title": "rm a", "rawInput": {"command": "rm a"}}
    options = [{"optionId": "once", "name": "Yes", "kind": "allow_once"}]
    params = {"sessionId": "SESSION", "toolCall": call, "options": options}
    request = {"jsonrpc": "2.0", "id": "q", "method": "session/request_permission", "params": params}
    withdrawal = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "q"}}
    fifo = stage.fifo("withdraw")
    lines = f"raw: {json.dumps(request)}\nhold: {fifo}\nraw: {json.dumps(withdrawal)}\nsay: never mind"
    async with closing(stage.runtime()) as runtime:
        talk = Talk(stage, runtime)
        working = asyncio.create_task(talk.say(lines, lambda _: Response(request_id="another", verdict="deny")))
        await talk.until_heard(lambda event: isinstance(event, PermissionRequested))
        await fifo.open()
        events = await working
    assert only(RequestWithdrawn, events) == [RequestWithdrawn("q")]
    assert events[-1] == TurnEnded("never mind")


class Person:
    """Somebody who sees what is asked, beside the requests of an agent that never was a process."""

    def __init__(self) -> None:
        self.seen: list[EngineEvent] = []
        self.settled = 0
        self.asks = Asks(self.seen.append, self._settle)
        self.asks.begin_turn(Tier(), ())

    def _settle(self) -> None:
        self.settled += 1

    def ask(self, request_id: int, call_id: str = "t") -> "asyncio.Task[dict[str, object]]":
        call = {"toolCallId": call_id, "kind": "execute", "rawInput": {"command": "rm a"}}
        options = [{"optionId": "once", "kind": "allow_once", "name": "Yes"}]
        params = {"toolCall": call, "options": options, "_meta": {REQUEST_ID: str(request_id)}}
        return asyncio.create_task(self.asks.ask_permission(params))

    async def until_seen(self, count: int) -> None:
        await until(lambda: len(self.seen) == count)


CHOSEN = {"outcome": {"outcome": "selected", "optionId": "once"}}
CANCELLED = {"outcome": {"outcome": "cancelled"}}


async def test_a_withdrawn_question_is_taken_from_the_person_and_cancelled():
    person = Person()
    asking = person.ask(1)
    await person.until_seen(1)
    person.asks.withdraw("another")
    person.asks.withdraw("1")
    assert await asking == CANCELLED
    assert person.seen[1:] == [RequestWithdrawn("1")]
    person.asks.respond(Response(request_id="1", verdict="allow"))
    assert (person.asks.are_open, person.settled) == (False, 1)


async def test_the_same_permission_for_the_same_call_is_shown_once_while_it_is_open():
    person = Person()
    first, second = person.ask(1), person.ask(2)
    await person.until_seen(1)
    await asyncio.sleep(0)
    person.asks.respond(Response(request_id="1", verdict="allow"))
    assert [await first, await second] == [CHOSEN, CHOSEN]
    assert len(person.seen) == 1


async def test_an_agent_that_asks_again_and_withdraws_one_of_the_two_still_gets_the_response():
    for withdrawn, kept in (("1", 1), ("2", 0)):
        person = Person()
        asking = [person.ask(1), person.ask(2)]
        await person.until_seen(1)
        await asyncio.sleep(0)
        person.asks.withdraw(withdrawn)
        person.asks.respond(Response(request_id="1", verdict="allow"))
        assert await asking[kept] == CHOSEN
        assert len(person.seen) == 1, "nothing is taken from the person"
        await asyncio.gather(*asking)

    person = Person()
    asking = [person.ask(1), person.ask(2)]
    await person.until_seen(1)
    await asyncio.sleep(0)
    person.asks.withdraw("1")
    person.asks.withdraw("2")
    assert [await one for one in asking] == [CANCELLED, CANCELLED]
    assert person.seen[1:] == [RequestWithdrawn("1")]


async def test_the_same_command_in_two_calls_is_shown_twice_and_each_gets_its_own_response():
    person = Person()
    first, second = person.ask(1, "t"), person.ask(2, "u")
    await person.until_seen(2)
    person.asks.respond(Response(request_id="1", verdict="allow"))
    person.asks.respond(Response(request_id="2", verdict="deny"))
    assert [await first, await second] == [CHOSEN, CANCELLED]


async def test_a_second_request_under_the_same_id_is_refused_and_told():
    person = Person()
    first, second = person.ask(1, "t"), person.ask(1, "u")
    assert await second == CANCELLED
    assert isinstance(person.seen[1], Diagnostic)
    person.asks.respond(Response(request_id="1", verdict="allow"))
    assert await first == CHOSEN


async def test_a_request_of_an_unknown_shape_is_refused_and_told():
    person = Person()
    params = {"toolCall": [], "options": 5, "_meta": {REQUEST_ID: "1"}}
    assert await person.asks.ask_permission(params) == CANCELLED
    assert "format is unknown" in only(Noticed, person.seen)[0].text
