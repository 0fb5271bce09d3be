"""An agent's question as Discord components (buttons, lists, a form), and reading what a person chose in them.

Buttons need no memory of ours: a button's custom id says which question of which state directory it answers, so that
the button works after a restart and can never answer a question of another state directory.
"""

from typing import Any, Final

import discord
import msgspec

from fairlead.core.engine import AskedItem
from fairlead.core.views import QuestionView
from fairlead.render.rules import rule_words
from fairlead.render.safe_text import one_line
from fairlead.render.words import say

PREFIX: Final = "fl"
ALWAYS: Final = "always"
_SEPARATOR: Final = "|"
_BUTTON_OPTIONS: Final = 4
_MAX_OPTIONS: Final = 25
_MAX_SELECTS: Final = 4
_LABEL: Final = 80
_OPTION_LABEL: Final = 100
_MODAL_TITLE: Final = 45
_MODAL_LABEL: Final = 45
_MODAL_FIELDS: Final = 5
_RESPONSE_LENGTH: Final = 2000
_AND: Final = ", "

_STYLE: Final = {
    "allow": discord.ButtonStyle.success,
    "session": discord.ButtonStyle.primary,
    "deny": discord.ButtonStyle.danger,
}


class ButtonId(msgspec.Struct, frozen=True):
    """What a custom id says."""

    state_id: str
    question_id: str
    verb: str


def custom_id(state_id: str, question_id: str, verb: str) -> str:
    return _SEPARATOR.join((PREFIX, state_id[:8], question_id, verb))


def parse_custom_id(text: str) -> ButtonId | None:
    match text.split(_SEPARATOR):
        case [first, state_id, question_id, verb] if first == PREFIX:
            return ButtonId(state_id, question_id, verb)
        case _:
            return None


def build_buttons(question: QuestionView, state_id: str, lang: str) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    match question.kind:
        case "permission":
            words = (("allow", "allow_once"), ("session", "allow_session"), ("deny", "deny"), ("because", "because"))
        case "plan":
            words = (("allow", "approve"), ("deny", "keep_planning"))
        case "question":
            words = ()
            _add_choices(view, question, state_id)
    for verb, word in words:
        view.add_item(_button(state_id, question, verb, say(lang, f"question.{word}")))
    if question.kind != "permission":
        view.add_item(_button(state_id, question, "other", say(lang, "question.other")))
    for number, offer in enumerate(question.offers, 1):
        always = _button(state_id, question, f"{ALWAYS}{number}", say(lang, "question.always", rule=rule_words(offer)))
        always.row = 1  # a rule is long: below the short answers, where a phone has room for it
        view.add_item(always)
    view.stop()  # clicks come by their custom ids, also to a later process: discord.py need not keep the view
    return view


def _button(state_id: str, question: QuestionView, verb: str, label: str) -> discord.ui.Button[Any]:
    style = _STYLE.get(verb, discord.ButtonStyle.secondary)
    name = custom_id(state_id, question.question_id, verb)
    return discord.ui.Button(style=style, label=one_line(label, _LABEL) or verb, custom_id=name)


def _add_choices(view: discord.ui.View, question: QuestionView, state_id: str) -> None:
    """A single short question is answered with one tap, everything else by choosing from lists. Choices already made
    stay marked; where there are more lists than fit, an answered list makes room for the next."""
    items = question.items
    if len(items) == 1 and not items[0].several and 0 < len(items[0].options) <= _BUTTON_OPTIONS:
        for number, option in enumerate(items[0].options):
            view.add_item(_button(state_id, question, f"opt{number}", option.label))
        return
    lists = [(number, item) for number, item in enumerate(items) if item.options]
    if len(lists) > _MAX_SELECTS:
        lists = [(number, item) for number, item in lists if item.text not in question.chosen]
    for number, item in lists[:_MAX_SELECTS]:
        options = item.options[:_MAX_OPTIONS]
        marked = _labels(item, question.chosen.get(item.text, ""))
        view.add_item(
            discord.ui.Select(
                custom_id=custom_id(state_id, question.question_id, f"pick{number}"),
                placeholder=one_line(item.header or item.text, 150),
                max_values=len(options) if item.several else 1,
                options=[
                    discord.SelectOption(
                        label=one_line(o.label, _OPTION_LABEL) or str(index + 1),
                        value=str(index),
                        description=one_line(o.description, _OPTION_LABEL) or None,
                        default=o.label in marked,
                    )
                    for index, o in enumerate(options)
                ],
            )
        )


def response_form(question: QuestionView, state_id: str, lang: str) -> discord.ui.Modal:
    """A field for each question, for a response that is none of the choices; for a permission, why it is refused."""
    is_permission = question.kind == "permission"
    title = one_line(say(lang, "question.why_not" if is_permission else "question.your_answer"), _MODAL_TITLE)
    verb = "reason" if is_permission else "form"
    form = discord.ui.Modal(title=title, timeout=None, custom_id=custom_id(state_id, question.question_id, verb))
    texts = [item.header or item.text for item in question.items[:_MODAL_FIELDS]] or [title]
    for number, text in enumerate(texts):
        form.add_item(
            discord.ui.TextInput(
                label=one_line(text, _MODAL_LABEL) or title,
                custom_id=f"field{number}",
                style=discord.TextStyle.paragraph,
                max_length=_RESPONSE_LENGTH,
                required=len(texts) == 1,
            )
        )
    form.stop()  # as for the view: its submission comes by its custom id
    return form


def read_choices(question: QuestionView, number: int, values: list[str]) -> dict[str, str]:
    """The answer to one of the questions, by the words of its options."""
    if not 0 <= number < len(question.items):
        return {}
    item = question.items[number]
    labels = [item.options[int(v)].label for v in values if v.isdecimal() and int(v) < len(item.options)]
    return {item.text: _AND.join(labels)} if labels else {}


def _labels(item: AskedItem, answer: str) -> set[str]:
    """The options that an answer names: the reverse of `read_choices`."""
    return {answer, *answer.split(_AND)} if item.several else {answer}


def read_form(question: QuestionView, fields: dict[str, str]) -> tuple[dict[str, str], str]:
    """The words written into the form, per question, and all of them as one message."""
    texts = {name: text.strip() for name, text in fields.items() if text.strip()}
    chosen = {
        item.text: texts[f"field{number}"]
        for number, item in enumerate(question.items[:_MODAL_FIELDS])
        if f"field{number}" in texts
    }
    return chosen, "\n".join(texts.values())


def form_fields(data: Any) -> dict[str, str]:
    """The values of a submitted form by their custom ids, at whatever depth Discord has put them."""
    found: dict[str, str] = {}
    stack = list(data.get("components") or ())
    while stack:
        item = stack.pop()
        if isinstance(item.get("value"), str) and "custom_id" in item:
            found[item["custom_id"]] = item["value"]
        stack += item.get("components") or ()
        if item.get("component"):
            stack.append(item["component"])
    return dict(sorted(found.items()))
