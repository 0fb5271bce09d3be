"""Clicks and filled-in forms: who pressed what, carried to the gate, and shown on the message. Waits for no agent."""

import asyncio
from typing import Any, Final

import discord
import msgspec

from fairlead.channels.discord.inbound.callers import People
from fairlead.channels.discord.outbound import question_buttons
from fairlead.channels.discord.outbound.acknowledge import acknowledge
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, REST_FAULTS, RestCalls
from fairlead.channels.discord.outbound.threads import reopening
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.engine import Verdict
from fairlead.core.ids import QuestionId
from fairlead.core.live import QuestionSettled
from fairlead.core.state import OpenQuestion
from fairlead.errors import Code, FairleadError, error
from fairlead.observe import log, log_failure
from fairlead.ports import Click, Gate, View
from fairlead.render.safe_text import one_line
from fairlead.render.words import error_line, say

_TEXT_LIMIT: Final = 2000


class _Asked(msgspec.Struct, frozen=True):
    """Where a question stands, so that its buttons go when it is settled elsewhere."""

    channel_id: int
    message_id: int
    text: str
    lang: str


class ButtonClicks:
    def __init__(self, gate: Gate, view: View, rest: RestCalls, people: People) -> None:
        self._gate = gate
        self._view = view
        self._rest = rest
        self._people = people
        self._standing: dict[str, _Asked] = {}

    def stands(self, question_id: str, *, channel_id: int, message_id: int, text: str, lang: str) -> None:
        self._standing[question_id] = _Asked(channel_id, message_id, text, lang)

    async def clicked(self, interaction: discord.Interaction[Any]) -> None:
        data: Any = interaction.data or {}
        what = question_buttons.pressed(str(data.get("custom_id", "")))
        is_ours = interaction.type in {discord.InteractionType.component, discord.InteractionType.modal_submit}
        if what is None or not is_ours:
            return
        if not await self._people.may_pass(interaction, "a button"):
            return
        lang = self._people.language(interaction)
        question = self._view.state.questions.get(QuestionId(what.question_id))
        if question is None or not self._view.state.state_id.startswith(what.state_id):
            await interaction.response.send_message(error_line(lang, Code.E_QUESTION_CLOSED), ephemeral=True)
        elif what.verb == "other" and not self._can_be_answered(question):
            line = _refusal(error(Code.E_QUESTION_CLOSED), question, lang)
            await interaction.response.send_message(line, ephemeral=True)
        elif what.verb == "other":
            form = question_buttons.answer_form(question, self._view.state.state_id, lang)
            await interaction.response.send_modal(form)
        elif what.verb == "form" and not any(question_buttons.written(question, question_buttons.form_fields(data))):
            await interaction.response.send_message(error_line(lang, Code.E_EMPTY_MESSAGE), ephemeral=True)
        else:
            await self._answer(interaction, question, self._click(interaction, question, what.verb, data), lang)
            await self._people.see(interaction)

    async def _answer(
        self, interaction: discord.Interaction[Any], question: OpenQuestion, click: Click, lang: str
    ) -> None:
        was_gone = self._is_gone(question)
        standing = self._standing.pop(question.question_id, None)
        # Both at once: Discord waits for no disk, and of two choices from one list the later must be decided later.
        outcome, acknowledged = await asyncio.gather(
            self._gate.click(click), acknowledge(interaction), return_exceptions=True
        )
        if standing is not None and (isinstance(outcome, BaseException) or question.status == "open"):
            self._standing[question.question_id] = standing
        if isinstance(acknowledged, BaseException):
            raise acknowledged
        if isinstance(outcome, FairleadError):
            log_failure("click refused", outcome, question_id=question.question_id)
            if acknowledged:
                await interaction.followup.send(_refusal(outcome, question, lang), ephemeral=True)
        elif isinstance(outcome, BaseException):
            raise outcome
        elif question.status == "open":
            view = question_buttons.question_view(question, self._view.state.state_id, lang)
            await self._redraw(interaction, {"view": view}, is_acknowledged=acknowledged)
        else:
            edit = _answered(interaction, question, click, lang, was_gone=was_gone)
            await self._redraw(interaction, edit, is_acknowledged=acknowledged)

    async def _redraw(
        self, interaction: discord.Interaction[Any], edit: dict[str, Any], *, is_acknowledged: bool
    ) -> None:
        """By the interaction, else as any message of ours: the click counted, so its buttons must not stay."""
        try:
            if is_acknowledged:
                await reopening(
                    self._rest, interaction.channel_id or 0, lambda: interaction.edit_original_response(**edit)
                )
                return
        except (*REST_FAULTS, *DELIVERY_ERRORS) as fault:
            log.info("an interaction no longer edits its message", message=repr(fault))
        if interaction.message is not None and interaction.channel_id is not None:
            await self._edit(interaction.channel_id, interaction.message.id, edit)

    def _can_be_answered(self, question: OpenQuestion) -> bool:
        return question.status == "open" and (question.kind == "question" or not self._is_gone(question))

    def _is_gone(self, question: OpenQuestion) -> bool:
        job = self._view.state.jobs.get(question.job_id)
        return job is None or not job.is_live

    def _click(self, interaction: discord.Interaction[Any], question: OpenQuestion, verb: str, data: Any) -> Click:
        person = self._people.person(interaction.user.id)
        verdict: Verdict = "deny" if verb == "deny" else "allow"
        chosen: dict[str, str] = {}
        message = ""
        if verb == "form":
            chosen, message = question_buttons.written(question, question_buttons.form_fields(data))
            verdict = "deny" if question.kind == "plan" else "allow"  # words about a plan ask for another one
        elif verb.startswith("opt") and verb[3:].isdecimal():
            chosen = question_buttons.picked(question, 0, [verb[3:]])
        elif verb.startswith("pick") and verb[4:].isdecimal():
            chosen = question_buttons.picked(question, int(verb[4:]), list(data.get("values") or ()))
        return Click(
            question_id=question.question_id,
            person=person,
            verdict=verdict,
            chosen=chosen,
            message=message,
            for_session=verb == "session",
            partial=verb.startswith("pick") or verb == "form",
        )

    async def settled(self, event: QuestionSettled) -> None:
        """Answered elsewhere, expired or gone: the buttons go, and the message says why."""
        standing = self._standing.pop(event.question_id, None)
        if standing is None:
            return
        edit = closed(standing.text, _settled_line(event, standing.lang))
        await self._edit(standing.channel_id, standing.message_id, edit)

    async def _edit(self, channel_id: int, message_id: int, edit: dict[str, Any]) -> None:
        try:
            await self._rest.until_done(
                Urgency.FINAL_STATUS,
                lambda client: client.get_partial_messageable(channel_id).get_partial_message(message_id).edit(**edit),
            )
        except DELIVERY_ERRORS as condition:
            log.info("a settled question kept its buttons", message_id=str(message_id), message=repr(condition))


def _answered(
    interaction: discord.Interaction[Any], question: OpenQuestion, click: Click, lang: str, *, was_gone: bool
) -> dict[str, Any]:
    line = say(lang, "question.carried_over") if was_gone else ""
    click = msgspec.structs.replace(click, chosen=question.chosen)  # with what was chosen before
    outcome = outcome_line(lang, click, f"<@{interaction.user.id}>")
    content = interaction.message.content if interaction.message is not None else ""
    return closed(content, "\n".join(filter(None, (outcome, line))))


def closed(content: str, line: str) -> dict[str, Any]:
    """The question as it stays: without buttons, with what became of it."""
    text = f"{content}\n-# {line}" if content else f"-# {line}"
    if len(text) <= _TEXT_LIMIT:
        return {"content": text, "view": None}
    return {"embed": discord.Embed(description=line), "view": None}


def outcome_line(lang: str, click: Click, who: str) -> str:
    if click.chosen or click.message:
        answer = one_line("; ".join(click.chosen.values()) or click.message, 300)
        return say(lang, "question.answered_by", person=who, answer=answer)
    if click.verdict == "deny":
        return say(lang, "question.denied_by", person=who)
    return say(lang, "question.allowed_session_by" if click.for_session else "question.allowed_once_by", person=who)


def _settled_line(event: QuestionSettled, lang: str) -> str:
    if event.person:
        return say(lang, "question.already", person=_shown_person(event.person))
    if event.outcome == "expired":
        return say(lang, "question.expired")
    return error_line(lang, Code.E_QUESTION_CLOSED)


def _refusal(refusal: FairleadError, question: OpenQuestion, lang: str) -> str:
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
