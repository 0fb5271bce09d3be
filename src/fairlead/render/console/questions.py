"""An open question with its buttons, as a form that works without a script. Knows no page."""

from typing import Final

from fairlead.core.console_views import BoardQuestion
from fairlead.core.engine import AskedItem
from fairlead.core.questions import QuestionFields
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import button, elapsed_time, isolate, job_link, post_form, session_path
from fairlead.render.questions import says_no_more, tier_change
from fairlead.render.rules import rule_words
from fairlead.render.safe_text import one_line, visible_lines
from fairlead.render.words import say

MOST_DETAIL: Final = 20_000
_KINDS: Final = {
    "permission": "console.question.permission",
    "question": "question.choice",
    "plan": "question.plan",
}


def question_card(asked: BoardQuestion, lang: str, now: str, *, is_owner: bool) -> Html:
    """Everything that a person needs to decide, then the buttons."""
    question = asked.question
    name = f"q-{question.question_id}"
    heading = say(lang, _KINDS[question.kind], tool=one_line(question.tool, 60), machine=question.machine)
    return el(
        "article",
        el("h3", heading, id=f"{name}-heading"),
        el(
            "p",
            el("a", isolate(asked.title, 80), href=session_path(asked.session_id)) if asked.session_id else None,
            " · ",
            job_link(question.job_id),
            " · ",
            elapsed_time(question.asked_at, now),
            class_="about",
        ),
        _what_is_asked(question, lang),
        _response_form(question, name, lang, is_owner=is_owner),
        id=name,
        class_="card question",
        aria_labelledby=f"{name}-heading",
        data_in="questions-list",
    )


def _what_is_asked(question: QuestionFields, lang: str) -> Content:
    """A command and a diff are shown as they are: what hides or turns text around is shown by its number. Nobody
    should allow what they have not seen: where something very long is cut, the page says so and leads to all of it."""
    detail = visible_lines(question.detail[:MOST_DETAIL])
    title = one_line(question.title, 300)
    parts: list[Content] = []
    if question.kind == "plan" or (question.kind == "permission" and not says_no_more(question)):
        parts.append(el("p", el("bdi", title)))
    if detail:
        parts.append(el("pre", el("code", detail), tabindex="0", class_="detail"))
    if question.diff:
        parts.append(diff_block(question.diff[:MOST_DETAIL]))
    parts.append(_what_is_cut(question, lang))
    parts += [el("p", line, class_="warning") for line in tier_change(question, lang)]
    return parts


def _what_is_cut(question: QuestionFields, lang: str) -> Content:
    more = sum(max(0, len(text) - MOST_DETAIL) for text in (question.detail, question.diff))
    if not more:
        return None
    whole = el("a", say(lang, "console.question.whole"), href=f"/console/question/{question.question_id}/whole.txt")
    return el("p", say(lang, "console.question.cut", count=more), " ", whole, class_="warning")


def whole_text(question: QuestionFields) -> str:
    """Everything that is asked, as a text to read."""
    return "\n\n".join(filter(None, map(visible_lines, (question.title, question.detail, question.diff))))


def diff_block(diff: str) -> Html:
    """One line after another, each with its colour and its sign."""
    kinds = {"+": "added", "-": "removed", "@": "place"}
    lines = [
        el("span", line, "\n", class_=kinds.get(line[:1])) if line[:1] in kinds else [line, "\n"]
        for line in visible_lines(diff).splitlines()
    ]
    return el("pre", el("code", lines), class_="diff", tabindex="0")


def _response_form(question: QuestionFields, name: str, lang: str, *, is_owner: bool) -> Html:
    action = f"/console/question/{question.question_id}"
    match question.kind:
        case "permission":
            return post_form(action, _permission_buttons(question, name, lang, is_owner=is_owner), class_="answers")
        case "plan":
            return post_form(action, _plan_buttons(name, lang), class_="answers")
        case "question":
            lists = [_choice(item, f"{name}-{number}", number, lang) for number, item in enumerate(question.items)]
            send = button(say(lang, "console.question.send"), kind="main", name="verdict", value="allow")
            refuse = None if question.budget_day else _refusal(name, lang)
            return post_form(action, lists, el("div", send, class_="row"), refuse, class_="answers")


def _permission_buttons(question: QuestionFields, name: str, lang: str, *, is_owner: bool) -> Content:
    buttons: list[Content] = [button(say(lang, "question.allow_once"), kind="main", name="verdict", value="allow")]
    if is_owner:
        buttons.append(button(say(lang, "question.allow_session"), name="verdict", value="session"))
    buttons.append(button(say(lang, "question.deny"), kind="danger", name="verdict", value="deny"))
    rules: list[Content] = []
    for number, offer in enumerate(question.offers if is_owner else (), 1):
        words = say(lang, "question.always", rule=one_line(rule_words(offer), 160))
        rules.append(button(words, kind="quiet", name="verdict", value=f"always-{number}"))
    return (
        el("div", buttons, class_="row"),
        el("div", rules, class_="row rules") if rules else None,
        _refusal(name, lang, told_next=question.words_go_next),
    )


def _plan_buttons(name: str, lang: str) -> Content:
    return (
        el(
            "div",
            button(say(lang, "question.approve"), kind="main", name="verdict", value="allow"),
            button(say(lang, "question.keep_planning"), kind="danger", name="verdict", value="deny"),
            class_="row",
        ),
        _refusal(name, lang),
    )


def _refusal(name: str, lang: str, *, told_next: bool = False) -> Content:
    """A refusal with words, folded until it is wanted."""
    return el(
        "details",
        el("summary", say(lang, "question.because")),
        el("label", say(lang, "question.why_not"), for_=f"{name}-message"),
        el("textarea", name="message", id=f"{name}-message", rows=2, maxlength=4000),
        el("p", say(lang, "question.words_go_next"), class_="hint") if told_next else None,
        el("div", button(say(lang, "question.deny"), kind="danger", name="verdict", value="deny-words"), class_="row"),
        id=f"{name}-refusal",
    )


def _choice(item: AskedItem, name: str, number: int, lang: str) -> Html:
    """One list. An answer in other words is always possible."""
    kind = "checkbox" if item.several else "radio"
    options = [
        el(
            "label",
            el("input", type=kind, name=f"choice-{number}", value=str(place), id=f"{name}-{place}"),
            el("span", el("bdi", option.label), _describe_option(option.description)),
            class_="option",
        )
        for place, option in enumerate(item.options)
    ]
    other = (
        el("label", say(lang, "question.other" if item.options else "question.your_answer"), for_=f"{name}-other"),
        el("input", type="text", name=f"other-{number}", id=f"{name}-other", maxlength=4000, autocomplete="off"),
    )
    return el("fieldset", el("legend", el("bdi", item.text)), options, el("div", other, class_="other"))


def _describe_option(description: str) -> Content:
    return (" ", el("small", el("bdi", description))) if description else None
