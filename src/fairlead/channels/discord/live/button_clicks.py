"""Clicks on buttons and submitted forms: brought to the gate as responses, and shown on the message. Waits for no
agent."""

import asyncio
from typing import Any, Final
from weakref import WeakValueDictionary

import discord
import msgspec

from fairlead.channels.discord.inbound.callers import Callers
from fairlead.channels.discord.outbound import question_buttons
from fairlead.channels.discord.outbound.acknowledge import acknowledge
from fairlead.channels.discord.outbound.messages import TEXT_LIMIT, without_countdown
from fairlead.channels.discord.outbound.redraw import edit_message, redraw
from fairlead.channels.discord.outbound.rest import RestCalls
from fairlead.core.engine import Verdict
from fairlead.core.questions import RespondToQuestion
from fairlead.core.views import QuestionView
from fairlead.errors import Code, FairleadError, error
from fairlead.observe import log_failure
from fairlead.ports import Gate, View
from fairlead.render.questions import without_offers
from fairlead.render.safe_text import one_line
from fairlead.render.words import error_line, say

_OPENS_FORM: Final = frozenset({"other", "because"})
_IS_FORM: Final = frozenset({"form", "reason"})


class _QuestionMessage(msgspec.Struct, frozen=True):
    """The message that shows a question: its buttons are removed when the question is settled elsewhere."""

    channel_id: int
    message_id: int
    text: str
    lang: str


class _ClicksOnQuestion:
    """Clicks whose responses are being written, and the right to edit the message that they stand on."""

    def __init__(self) -> None:
        self.under_way = 0
        self.drawing = asyncio.Lock()


class ButtonClicks:
    def __init__(self, gate: Gate, view: View, rest: RestCalls, callers: Callers) -> None:
        self._gate = gate
        self._view = view
        self._rest = rest
        self._callers = callers
        self._question_messages: dict[str, _QuestionMessage] = {}
        # Each click holds its entry while it runs; nothing is left of it afterwards.
        self._clicks: WeakValueDictionary[str, _ClicksOnQuestion] = WeakValueDictionary()

    def remember(self, question_id: str, *, channel_id: int, message_id: int, text: str, lang: str) -> None:
        self._question_messages[question_id] = _QuestionMessage(channel_id, message_id, text, lang)

    def find_message(self, question_id: str) -> int | None:
        """The message that shows this question, if this process sent it."""
        shown = self._question_messages.get(question_id)
        return None if shown is None else shown.message_id

    async def handle(self, interaction: discord.Interaction[Any]) -> None:
        data: Any = interaction.data or {}
        button = question_buttons.parse_custom_id(str(data.get("custom_id", "")))
        is_ours = interaction.type in {discord.InteractionType.component, discord.InteractionType.modal_submit}
        if button is None or not is_ours:
            return
        if not await self._callers.may_pass(interaction, "a button"):
            return
        lang = self._callers.language(interaction)
        question = self._view.question(button.question_id)
        if question is None or not self._view.state_id.startswith(button.state_id):
            await interaction.response.send_message(error_line(lang, Code.E_QUESTION_CLOSED), ephemeral=True)
        elif button.verb in _OPENS_FORM and not question.takes_responses:
            line = _refusal_text(error(Code.E_QUESTION_CLOSED), question, lang)
            await interaction.response.send_message(line, ephemeral=True)
        elif button.verb in _OPENS_FORM:
            form = question_buttons.response_form(question, self._view.state_id, lang)
            await interaction.response.send_modal(form)
        elif button.verb in _IS_FORM and not any(
            question_buttons.read_form(question, question_buttons.form_fields(data))
        ):
            await interaction.response.send_message(error_line(lang, Code.E_EMPTY_MESSAGE), ephemeral=True)
        else:
            response = self._read_response(interaction, question, button.verb, data)
            await self._respond(interaction, question, response, lang)
            await self._callers.see(interaction)

    async def _respond(
        self, interaction: discord.Interaction[Any], question: QuestionView, response: RespondToQuestion, lang: str
    ) -> None:
        clicks = self._clicks.setdefault(question.question_id, _ClicksOnQuestion())
        clicks.under_way += 1
        try:
            # The response and its acknowledgement run at once: Discord does not wait for our disk, and of two choices
            # from one list the later one must win.
            outcome, acknowledged = await asyncio.gather(
                self._gate.respond(response), acknowledge(interaction), return_exceptions=True
            )
        finally:
            clicks.under_way -= 1
        if isinstance(outcome, BaseException) or isinstance(acknowledged, BaseException):
            await self._close_if_settled(question)
        if isinstance(acknowledged, BaseException):
            raise acknowledged
        if isinstance(outcome, FairleadError):
            log_failure("click refused", outcome, question_id=question.question_id)
            if acknowledged:
                settled = self._view.question(question.question_id) or question
                await interaction.followup.send(_refusal_text(outcome, settled, lang), ephemeral=True)
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            async with clicks.drawing:
                edit = self._draw_response(interaction, question, response, lang)
                await redraw(self._rest, interaction, edit, is_acknowledged=acknowledged)

    def _draw_response(
        self, interaction: discord.Interaction[Any], question: QuestionView, response: RespondToQuestion, lang: str
    ) -> dict[str, Any]:
        """What holds by now: of several clicks the last edit shows the last state."""
        settled = self._view.question(question.question_id) or question
        if settled.status == "open":
            return {"view": question_buttons.build_buttons(settled, self._view.state_id, lang)}
        self._question_messages.pop(question.question_id, None)
        all_chosen = msgspec.structs.replace(response, chosen=settled.chosen)  # together with the earlier choices
        outcome = outcome_line(lang, all_chosen, f"<@{interaction.user.id}>", settled)
        if not question.job_is_live and not question.by_message:
            outcome += f"\n{say(lang, 'question.carried_over')}"
        content = interaction.message.content if interaction.message is not None else ""
        return closing_edit(content, outcome, settled)

    async def _close_if_settled(self, question: QuestionView) -> None:
        """What `close` left to a click that then did not count."""
        settled = self._view.question(question.question_id)
        if settled is not None and settled.status != "open":
            await self.close(settled)

    def _read_response(
        self, interaction: discord.Interaction[Any], question: QuestionView, verb: str, data: Any
    ) -> RespondToQuestion:
        person = self._callers.person(interaction.user.id)
        verdict: Verdict = "deny" if verb in {"deny", "reason"} else "allow"
        chosen: dict[str, str] = {}
        message = ""
        if verb == "reason":
            _, message = question_buttons.read_form(question, question_buttons.form_fields(data))
        elif verb == "form":
            chosen, message = question_buttons.read_form(question, question_buttons.form_fields(data))
            verdict = "deny" if question.kind == "plan" else "allow"  # words about a plan ask for another one
        elif verb.startswith("opt") and verb[3:].isdecimal():
            chosen = question_buttons.read_choices(question, 0, [verb[3:]])
        elif verb.startswith("pick") and verb[4:].isdecimal():
            chosen = question_buttons.read_choices(question, int(verb[4:]), list(data.get("values") or ()))
        return RespondToQuestion(
            question_id=question.question_id,
            person=person,
            verdict=verdict,
            chosen=chosen,
            message=message,
            for_session=verb == "session",
            always=_offer_number(verb),
            partial=verb.startswith("pick") or verb == "form",
            via=f"discord/{interaction.guild_id or 'direct'}/{interaction.channel_id} by {interaction.type.name}",
        )

    async def close(self, question: QuestionView) -> None:
        """For a question that was settled elsewhere, expired or is gone: remove the buttons and say why. While a click
        is under way, the message is left to it: two edits at once would fight over the words."""
        clicks = self._clicks.get(question.question_id)
        if clicks is not None and clicks.under_way:
            return
        shown = self._question_messages.pop(question.question_id, None)
        if shown is None:
            return
        edit = closing_edit(shown.text, _settlement_line(question, shown.lang), question)
        await edit_message(self._rest, shown.channel_id, shown.message_id, edit)


def _offer_number(verb: str) -> int:
    number = verb.removeprefix(question_buttons.ALWAYS)
    return int(number) if number != verb and number.isdecimal() else 0


def closing_edit(content: str, line: str, question: QuestionView) -> dict[str, Any]:
    """The edit that leaves the question without buttons, countdown and rules that nobody made, with a line on what
    became of it."""
    content = without_countdown(content)
    if not question.rule_made:
        content = without_offers(content, question)
    text = f"{content}\n-# {line}" if content else f"-# {line}"
    if len(text) <= TEXT_LIMIT:
        return {"content": text, "view": None}
    return {"embed": discord.Embed(description=line), "view": None}


def outcome_line(lang: str, response: RespondToQuestion, who: str, question: QuestionView) -> str:
    if question.kind == "permission" and response.verdict == "deny" and response.message:
        return _refusal_line(lang, question, who, response.message)
    if response.always and question.rule_made:
        return say(lang, "question.allowed_always_by", person=who, number=question.rule_made)
    if response.chosen or response.message:
        answer = one_line("; ".join(response.chosen.values()) or response.message, 300)
        return say(lang, "question.answered_by", person=who, answer=answer)
    if response.verdict == "deny":
        return say(lang, "question.denied_by", person=who)
    return say(lang, "question.allowed_session_by" if response.for_session else "question.allowed_once_by", person=who)


def _refusal_line(lang: str, question: QuestionView, who: str, reason: str) -> str:
    words = say(lang, "question.denied_because", person=who, reason=one_line(reason, 300))
    return f"{words}\n-# {say(lang, 'question.words_go_next')}" if question.words_go_next else words


def _settlement_line(question: QuestionView, lang: str) -> str:
    if question.kind == "permission" and question.outcome == "deny" and question.message:
        return _refusal_line(lang, question, _shown_person(question.answered_by), question.message)
    if question.answered_by:
        return say(lang, "question.already", person=_shown_person(question.answered_by))
    if question.outcome == "expired":
        return say(lang, "question.expired")
    return error_line(lang, Code.E_QUESTION_CLOSED)


def _refusal_text(refusal: FairleadError, question: QuestionView, lang: str) -> str:
    if refusal.code == Code.E_OWNER_ONLY:
        return f"{refusal.code}: {say(lang, 'question.owner_only')}"
    if refusal.code == Code.E_QUESTION_CLOSED and question.status == "open":
        return f"{refusal.code}: {say(lang, 'question.job_gone', job=question.job_id)}"
    if refusal.code == Code.E_QUESTION_CLOSED and question.answered_by:
        return f"{refusal.code}: {say(lang, 'question.already', person=_shown_person(question.answered_by))}"
    return error_line(lang, error(refusal.code).code)


def _shown_person(person: str) -> str:
    """Discord shows a mention as the name; people of other channels have none here."""
    return f"<@{person}>" if person.isdecimal() else person
