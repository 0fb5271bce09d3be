"""The page *Now*, and the answers to questions, which can be given on every page that shows one."""

from typing import Final, get_args

from aiohttp import web

from fairlead.channels.http.console.jobs import TEXT_HEADERS
from fairlead.channels.http.console.visit import PageContent, Visit
from fairlead.core.engine import Verdict
from fairlead.core.ids import QuestionId
from fairlead.core.live import AgentActed, LiveEvent, RecordChanged
from fairlead.core.questions import RespondToQuestion
from fairlead.core.views import QuestionView
from fairlead.errors import Code, error
from fairlead.kit.tasks import run_to_end
from fairlead.ports import Durability
from fairlead.render.console.now import Health, now_page
from fairlead.render.console.questions import whole_text
from fairlead.render.words import say

_ALWAYS: Final = "always-"


def find_health(vitals: Durability) -> Health:
    return "disk_full" if vitals.is_stalled else "journal_damaged" if vitals.damage else "ok"


async def build_now(visit: Visit) -> PageContent:
    board = visit.view.board(visit.caller)
    page = now_page(board, find_health(visit.service.vitals), visit.lang, visit.now, is_owner=visit.is_owner)
    return PageContent(say(visit.lang, "console.nav.now"), page)


def is_board_touched(event: LiveEvent) -> bool:
    """What agents say and do in their turns does not stand on the board."""
    if isinstance(event, RecordChanged):
        return event.what in {"session", "delivery"}
    return not isinstance(event, AgentActed)


async def respond_to_question(visit: Visit) -> str:
    await run_to_end(visit.service.gate.respond(_read_response(visit, _find_question(visit))))
    return "/"


async def get_whole_question(visit: Visit) -> web.StreamResponse:
    """What is asked, however long it is."""
    return web.Response(body=whole_text(_find_question(visit)).encode("utf-8", "replace"), headers=TEXT_HEADERS)


def _find_question(visit: Visit) -> QuestionView:
    """Raises E_QUESTION_CLOSED, also for a question that the visitor may not see."""
    question = visit.view.question(visit.parts["question_id"])
    if question is None or not visit.sees(question.session_key):
        raise error(Code.E_QUESTION_CLOSED)
    return question


def _read_response(visit: Visit, question: QuestionView) -> RespondToQuestion:
    pressed = visit.text("verdict")
    always = pressed.removeprefix(_ALWAYS) if pressed.startswith(_ALWAYS) else "0"
    is_refusal = pressed in {"deny", "deny-words"}
    known = pressed in {"session", "deny-words", *get_args(Verdict)} or always != "0"
    if not known or not (always.isascii() and always.isdecimal() and len(always) < 3):
        raise error(Code.E_INVALID_ARGS, f"There is no button {pressed[:40]!r} on this question.")
    return RespondToQuestion(
        question_id=QuestionId(question.question_id),
        person=visit.login.person,
        verdict="deny" if is_refusal else "allow",
        chosen={} if is_refusal else _read_choices(visit, question),
        message=visit.text("message") if is_refusal else "",
        for_session=pressed == "session",
        always=int(always),
        pre_authorised=visit.is_owner,
        via=visit.via,
    )


def _read_choices(visit: Visit, question: QuestionView) -> dict[str, str]:
    """What was chosen from each list; words of one's own come before a choice."""
    chosen: dict[str, str] = {}
    for number, item in enumerate(question.items):
        offered = {str(place): option.label for place, option in enumerate(item.options)}
        picked = visit.values(f"choice-{number}")
        labels = [offered[place] for place in picked if isinstance(place, str) and place in offered]
        other = visit.text(f"other-{number}").strip()
        words = [*(labels if item.several or not other else []), *([other] if other else [])]
        if words:
            chosen[item.text] = ", ".join(words)
    if question.items and len(chosen) < len(question.items):
        missing = next(item.text for item in question.items if item.text not in chosen)
        raise error(Code.E_INVALID_ARGS, f"Nothing was chosen for {missing[:100]!r}.")
    return chosen
