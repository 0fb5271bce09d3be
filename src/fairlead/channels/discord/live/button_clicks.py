"""Clicks on buttons and submitted forms: brought to the gate as responses, and shown on the message. Waits for no
agent."""

import asyncio
from typing import Any, Final

import discord
import msgspec

from fairlead.channels.discord.inbound.callers import Callers
from fairlead.channels.discord.outbound import question_buttons
from fairlead.channels.discord.outbound.acknowledge import acknowledge
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, REST_FAULTS, RestCalls
from fairlead.channels.discord.outbound.threads import edit_reopening
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.engine import Verdict
from fairlead.core.questions import RespondToQuestion
from fairlead.core.views import QuestionView
from fairlead.errors import Code, FairleadError, error
from fairlead.observe import log, log_failure
from fairlead.ports import Gate, View
from fairlead.render.safe_text import one_line
from fairlead.render.words import error_line, say

_TEXT_LIMIT: Final = 2000


class _QuestionMessage(msgspec.Struct, frozen=True):
    """The message that shows a question: its buttons are removed when the question is settled elsewhere."""

    channel_id: int
    message_id: int
    text: str
    lang: str


class ButtonClicks:
    def __init__(self, gate: Gate, view: View, rest: RestCalls, callers: Callers) -> None:
        self._gate = gate
        self._view = view
        self._rest = rest
        self._callers = callers
        self._standing: dict[str, _QuestionMessage] = {}

    def remember(self, question_id: str, *, channel_id: int, message_id: int, text: str, lang: str) -> None:
        self._standing[question_id] = _QuestionMessage(channel_id, message_id, text, lang)

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
        elif button.verb == "other" and not question.takes_responses:
            line = _refusal_text(error(Code.E_QUESTION_CLOSED), question, lang)
            await interaction.response.send_message(line, ephemeral=True)
        elif button.verb == "other":
            form = question_buttons.response_form(question, self._view.state_id, lang)
            await interaction.response.send_modal(form)
        elif button.verb == "form" and not any(
            question_buttons.read_form(question, question_buttons.form_fields(data))
        ):
            await interaction.response.send_message(error_line(lang, Code.E_EMPTY_MESSAGE), ephemeral=True)
        else:
            await self._respond(interaction, question, self._response(interaction, question, button.verb, data), lang)
            await self._callers.see(interaction)

    async def _respond(
        self, interaction: discord.Interaction[Any], question: QuestionView, response: RespondToQuestion, lang: str
    ) -> None:
        standing = self._standing.pop(question.question_id, None)
        # Both at once: Discord does not wait for our disk, and of two choices from one list the later one must win.
        outcome, acknowledged = await asyncio.gather(
            self._gate.respond(response), acknowledge(interaction), return_exceptions=True
        )
        settled = self._view.question(question.question_id) or question
        if standing is not None and (isinstance(outcome, BaseException) or settled.status == "open"):
            self._standing[question.question_id] = standing
        if isinstance(acknowledged, BaseException):
            raise acknowledged
        if isinstance(outcome, FairleadError):
            log_failure("click refused", outcome, question_id=question.question_id)
            if acknowledged:
                await interaction.followup.send(_refusal_text(outcome, settled, lang), ephemeral=True)
        elif isinstance(outcome, BaseException):
            raise outcome
        elif settled.status == "open":
            view = question_buttons.question_view(settled, self._view.state_id, lang)
            await self._redraw(interaction, {"view": view}, is_acknowledged=acknowledged)
        else:
            all_chosen = msgspec.structs.replace(response, chosen=settled.chosen)  # together with the earlier choices
            edit = _response_edit(interaction, all_chosen, lang, was_gone=not question.job_is_live)
            await self._redraw(interaction, edit, is_acknowledged=acknowledged)

    async def _redraw(
        self, interaction: discord.Interaction[Any], edit: dict[str, Any], *, is_acknowledged: bool
    ) -> None:
        """Edit the message through the interaction, else as any message of ours: the click counted, so the buttons must
        not stay."""
        try:
            if is_acknowledged:
                await edit_reopening(
                    self._rest, interaction.channel_id or 0, lambda: interaction.edit_original_response(**edit)
                )
                return
        except (*REST_FAULTS, *DELIVERY_ERRORS) as fault:
            log.info("an interaction no longer edits its message", message=repr(fault))
        if interaction.message is not None and interaction.channel_id is not None:
            await self._edit(interaction.channel_id, interaction.message.id, edit)

    def _response(
        self, interaction: discord.Interaction[Any], question: QuestionView, verb: str, data: Any
    ) -> RespondToQuestion:
        person = self._callers.person(interaction.user.id)
        verdict: Verdict = "deny" if verb == "deny" else "allow"
        chosen: dict[str, str] = {}
        message = ""
        if verb == "form":
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
            partial=verb.startswith("pick") or verb == "form",
        )

    async def close(self, question: QuestionView) -> None:
        """For a question that was settled elsewhere, expired or is gone: remove the buttons and say why."""
        standing = self._standing.pop(question.question_id, None)
        if standing is None:
            return
        edit = closing_edit(standing.text, _settlement_line(question, standing.lang))
        await self._edit(standing.channel_id, standing.message_id, edit)

    async def _edit(self, channel_id: int, message_id: int, edit: dict[str, Any]) -> None:
        try:
            await self._rest.until_done(
                Urgency.FINAL_STATUS,
                lambda client: client.get_partial_messageable(channel_id).get_partial_message(message_id).edit(**edit),
            )
        except DELIVERY_ERRORS as failure:
            log.info("a settled question kept its buttons", message_id=str(message_id), message=repr(failure))


def _response_edit(
    interaction: discord.Interaction[Any], response: RespondToQuestion, lang: str, *, was_gone: bool
) -> dict[str, Any]:
    line = say(lang, "question.carried_over") if was_gone else ""
    outcome = outcome_line(lang, response, f"<@{interaction.user.id}>")
    content = interaction.message.content if interaction.message is not None else ""
    return closing_edit(content, "\n".join(filter(None, (outcome, line))))


def closing_edit(content: str, line: str) -> dict[str, Any]:
    """The edit that leaves the question without buttons, with a line on what became of it."""
    text = f"{content}\n-# {line}" if content else f"-# {line}"
    if len(text) <= _TEXT_LIMIT:
        return {"content": text, "view": None}
    return {"embed": discord.Embed(description=line), "view": None}


def outcome_line(lang: str, response: RespondToQuestion, who: str) -> str:
    if response.chosen or response.message:
        answer = one_line("; ".join(response.chosen.values()) or response.message, 300)
        return say(lang, "question.answered_by", person=who, answer=answer)
    if response.verdict == "deny":
        return say(lang, "question.denied_by", person=who)
    return say(lang, "question.allowed_session_by" if response.for_session else "question.allowed_once_by", person=who)


def _settlement_line(question: QuestionView, lang: str) -> str:
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
