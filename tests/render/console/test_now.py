"""The page *Now* from a board: what needs somebody comes first, and everything on it is text."""

import pytest

from fairlead.core.console_views import Board, BoardDelivery, BoardJob, BoardQuestion
from fairlead.core.conversation import ConversationRef
from fairlead.core.engine import AskedItem, Option
from fairlead.core.ids import JobId, MessageId, QuestionId, SessionKeyText
from fairlead.core.rules import RuleOffer
from fairlead.core.views import JobView, QuestionView
from fairlead.render.console.now import now_page
from fairlead.render.console.parts import moment, session_path, state_badge
from fairlead.render.console.questions import diff_block, question_card
from tests.channels.http.console.harness import tags_in

NOW = "2026-11-18T03:00:10.000Z"
EVIL = '<script>alert(1)</script><img src=x onerror=alert(2)>"\u202etxt'
WHERE = ConversationRef("http", "fairlead", "alice")
KEY = SessionKeyText("agent:fairlead:user:alice")


def a_job(**more) -> JobView:
    fields = {"job_id": JobId("job_20261118_0001"), "session_key": KEY, "state": "running", "attempt": 1}
    given = {"enqueued_at": "2026-11-18T03:00:00.000Z", "conversation": WHERE, "message_id": MessageId("m")}
    return JobView(**{**fields, **given, "person": "alice", **more})


def a_row(**more) -> BoardJob:
    return BoardJob(job=a_job(**more), session_id=KEY, title=EVIL, prompt=EVIL)


def a_question(**more) -> BoardQuestion:
    fields = {"question_id": QuestionId("q_1"), "job_id": JobId("job_20261118_0001"), "session_key": KEY}
    given = {"kind": "permission", "title": "Run it", "deadline": "", "asked_at": "2026-11-18T03:00:00.000Z"}
    return BoardQuestion(question=QuestionView(**{**fields, **given, **more}), session_id=KEY, title="alice")


def buttons_in(html: str) -> list[str]:
    return [attributes.get("value") or "" for tag, attributes in tags_in(html) if tag == "button"]


@pytest.mark.req("G1")
def test_questions_stand_before_failures_and_these_before_what_runs_waits_and_is_not_delivered():
    owed = BoardDelivery(
        entry_id="debt_1",
        kind="answer",
        job_id="job_20261118_0001",
        session_id=KEY,
        title="alice",
        where=WHERE,
        owed_at=NOW,
        attempts=3,
        last_error="E_CHANNEL_AWAY",
    )
    board = Board(
        questions=(a_question(),),
        failed=(a_row(state="failed", error_code="E_RUNTIME_HUNG", finished_at=NOW),),
        running=(a_row(),),
        queued=(a_row(state="queued"),),
        queued_total=7,
        undelivered=(owed,),
        undelivered_total=1,
    )
    html = now_page(board, "disk_full", "en", NOW, is_owner=True)
    order = [a["id"] for tag, a in tags_in(html) if tag == "section"]
    assert order == ["wrong", "questions", "failed", "running", "queued", "undelivered"]
    assert "Tried 3 times on http: E_CHANNEL_AWAY." in html
    assert 'id="summary">Open questions: 1' in html
    assert "Queued (number 1) · <time" in html
    cancelled = [a["action"] for tag, a in tags_in(html) if tag == "form" and (a["action"] or "").endswith("/cancel")]
    assert len(cancelled) == 2, "what runs, and what waits"


@pytest.mark.req("G1")
def test_a_calm_day_says_so_in_one_sentence():
    html = now_page(Board(), "ok", "en", NOW, is_owner=True)
    assert "Nothing needs you." in html
    assert 'href="/console/session/me"' in html
    assert [a["id"] for tag, a in tags_in(html) if tag == "section"] == ["questions", "running"]


@pytest.mark.req("G1")
def test_only_the_owner_is_offered_more_than_once():
    offers = (RuleOffer(kind="prefix", tool="Bash", text="pytest"),)
    asked = a_question(tool="Bash", detail="pytest -q", offers=offers)
    owner = buttons_in(question_card(asked, "en", NOW, is_owner=True))
    guest = buttons_in(question_card(asked, "en", NOW, is_owner=False))
    assert owner == ["allow", "session", "deny", "always-1", "deny-words"]
    assert guest == ["allow", "deny", "deny-words"]


@pytest.mark.req("G1")
def test_each_list_of_a_question_has_its_options_and_room_for_other_words():
    items = (
        AskedItem("Which?", (Option("red", "warm"), Option("blue"))),
        AskedItem("How many?", (Option("1"), Option("2")), several=True),
    )
    html = question_card(a_question(kind="question", items=items), "en", NOW, is_owner=True)
    inputs = [(a["type"], a["name"], a.get("value")) for tag, a in tags_in(html) if tag == "input"]
    assert inputs == [
        ("radio", "choice-0", "0"),
        ("radio", "choice-0", "1"),
        ("text", "other-0", None),
        ("checkbox", "choice-1", "0"),
        ("checkbox", "choice-1", "1"),
        ("text", "other-1", None),
    ]


@pytest.mark.req("G3")
@pytest.mark.parametrize("lang", ["en", "ja", "zh-CN", "zh-TW"])
def test_what_agents_and_people_wrote_is_text_on_the_page(lang: str):
    items = (AskedItem(EVIL, (Option(EVIL, EVIL),)),)
    questions = (
        a_question(title=EVIL, detail=EVIL, diff=f"+{EVIL}", tool=EVIL),
        a_question(kind="question", items=items),
    )
    board = Board(questions=questions, running=(a_row(project=EVIL, runtime=EVIL),), failed=(a_row(state="failed"),))
    html = now_page(board, "ok", lang, NOW, is_owner=True)
    assert {tag for tag, _ in tags_in(html)} & {"script", "img", "style"} == set()
    assert [a for _, a in tags_in(html) for name in a if name.startswith("on")] == []


@pytest.mark.req("G3")
def test_what_turns_text_around_is_shown_by_its_number_where_a_person_decides():
    html = question_card(a_question(detail="rm \u202e/ fr-"), "en", NOW, is_owner=True)
    assert "rm &lt;U+202E&gt;/ fr-" in html
    assert "\u202e" not in diff_block("+\u202e")


def test_a_moment_is_told_as_how_long_ago_and_in_full():
    assert moment("2026-11-18T03:00:00.000Z", NOW, "en") == (
        '<time datetime="2026-11-18T03:00:00.000Z" title="2026-11-18 03:00:00 UTC">10s ago</time>'
    )
    assert state_badge("running", "en") == '<span class="badge state-running">Running</span>'
    assert session_path("agent:a:user:x/y?") == "/console/session/agent%3Aa%3Auser%3Ax%2Fy%3F"
