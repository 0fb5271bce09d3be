"""One turn as HTML: asked, at work, answered, failed. The routes are tested through a daemon."""

import pytest

from fairlead.core.engine import (
    TextDelta,
    TodoItem,
    TodosChanged,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    UsageReported,
)
from fairlead.render.console.markup import el
from fairlead.render.console.session import Choices, SessionHead, ShownTurn, part_block, session_page, turn_block
from fairlead.render.console.turns import LiveTurn
from tests.channels.http.console.harness import tags_in
from tests.render.console.test_now import EVIL, NOW, a_job, a_question

JOB = "job_20261118_0001"


def a_turn(*events) -> LiveTurn:
    turn = LiveTurn(JOB, "agent:fairlead:user:alice")
    for event in events:
        turn.note(event)
    return turn


def hostile_turn() -> LiveTurn:
    return a_turn(
        TodosChanged((TodoItem(EVIL, "in_progress"),)),
        TextDelta(EVIL),
        ToolStarted("t1", EVIL, {"command": EVIL}),
        ToolProgressed(tool_id="t1", output=EVIL, diff=f"-{EVIL}"),
        ToolEnded("t1", ok=False, summary=EVIL),
        ToolStarted("t2", "Task", {"description": EVIL}, parent_id="t1"),
        UsageReported(context_used=50, context_size=200),
    )


@pytest.mark.req("G3")
@pytest.mark.parametrize("lang", ["en", "ja", "zh-CN", "zh-TW"])
def test_whatever_an_agent_does_is_text_on_the_page(lang: str):
    turn = ShownTurn(job=a_job(prompt=EVIL, person=EVIL), live=hostile_turn(), questions=(a_question(detail=EVIL),))
    html = turn_block(turn, lang, NOW, is_owner=True)
    assert {tag for tag, _ in tags_in(html)} & {"script", "img", "style"} == set()
    assert [a for _, a in tags_in(html) for name in a if name.startswith("on")] == []
    assert "25%" in html


@pytest.mark.req("G2")
def test_tools_stand_between_the_words_in_their_order_and_are_folded_once_the_turn_is_over():
    live = a_turn(TextDelta("before"), ToolStarted("t1", "Bash", {"command": "ls"}), TextDelta("after"))
    at_work = turn_block(ShownTurn(job=a_job(), live=live), "en", NOW, is_owner=True)
    order = [a["id"] for _, a in tags_in(at_work) if (a.get("id") or "").startswith("part-")]
    assert order == [f"part-{JOB}-{number}" for number in range(3)]
    live.shrink()
    over = ShownTurn(job=a_job(state="success", finished_at=NOW), live=live, answer=el("p", "after"))
    tags = tags_in(turn_block(over, "en", NOW, is_owner=True))
    assert ("details", f"work-{JOB}") in [(tag, a.get("id")) for tag, a in tags]


@pytest.mark.req("G5")
def test_a_part_that_grows_says_how_much_it_has():
    live = a_turn(TextDelta("one "), TextDelta("two 🎣"))
    part = live.part(0)
    assert part is not None
    (attributes,) = [a for _, a in tags_in(part_block(JOB, 0, part, "en"))]
    assert (attributes["data-n"], attributes["data-in"]) == ("9", f"live-{JOB}")


@pytest.mark.req("G2")
def test_a_failure_says_what_happened_and_what_to_do_and_can_be_tried_again():
    job = a_job(state="failed", error_code="E_RUNTIME_HUNG", error_message="it hung", started_at=NOW, finished_at=NOW)
    html = turn_block(ShownTurn(job=job), "en", NOW, is_owner=True)
    assert "E_RUNTIME_HUNG" in html
    assert [a["action"] for tag, a in tags_in(html) if tag == "form"] == [f"/console/job/{JOB}/retry"]
    by_itself = turn_block(ShownTurn(job=a_job(state="failed", cause="agent")), "en", NOW, is_owner=True)
    assert "form" not in {tag for tag, _ in tags_in(by_itself)}


@pytest.mark.req("G2")
def test_the_composer_queues_while_the_agent_works():
    def page(state: str, *, takes_texts: bool = False) -> str:
        head = SessionHead(name="me", title="me", state=state, takes_texts=takes_texts)
        more = {"earlier": "", "key": "k", "lang": "en", "now": NOW, "is_owner": True}
        return session_page(head, (), Choices(tool="echo", tools=("echo", "claude")), **more)

    assert ">Send</button>" in page("idle")
    assert ">Queue</button>" in page("running")
    assert ("Steer now" in page("running", takes_texts=True), "Steer now" in page("running")) == (True, False)
    assert '<option value="echo" selected>echo</option>' in page("idle")
