"""Runs slash commands: acknowledges them at once, asks the gate, shows the reply. Knows no single command."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, cast

import discord
import msgspec
from discord import app_commands

from fairlead.channels.discord.commands.formatted_reply import FormattedReply
from fairlead.channels.discord.inbound.callers import Callers
from fairlead.channels.discord.inbound.conversations import CHANNEL, guild_of, link_to, message_named
from fairlead.channels.discord.outbound.acknowledge import acknowledge
from fairlead.channels.discord.outbound.messages import TEXT_LIMIT
from fairlead.channels.discord.outbound.other_daemons import OtherDaemons
from fairlead.channels.discord.outbound.refusal_line import refusal_line
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.discord.outbound.threads import edit_reopening, unarchive
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.command_spec import Argument, CommandSpec, choices_for, request_from, sentence_gaps
from fairlead.core.keys import parse_session_key
from fairlead.core.replies import Reply, SessionForkMade, SessionFound, SessionRow, SessionStarted, Spawned
from fairlead.core.requests import Caller, Request, Start
from fairlead.errors import Code, FairleadError, error
from fairlead.observe import log, log_failure
from fairlead.ports import Gate, View
from fairlead.render.forks import describe_fork
from fairlead.render.pieces import ANSWER_FILE, plan_pieces
from fairlead.render.words import say

_CHOICES: Final = 25
CHOICE_LENGTH: Final = 100
_PIECES: Final = 5
_ORIGINAL: Final = cast("int", "@original")
"""Discord's name for the first reply to an interaction; discord.py expects the id of a message there."""

_REPLY_LIFE_SEC: Final = 14.5 * 60
"""Discord takes replies to a command for fifteen minutes."""

Typed = Mapping[str, str | int]
Interaction = discord.Interaction[Any]


class CommandRunner(msgspec.Struct, frozen=True):
    gate: Gate
    view: View
    callers: Callers
    rest: RestCalls
    others: OtherDaemons

    async def run(self, interaction: Interaction, spec: CommandSpec, typed: Typed) -> None:
        """Ask the gate and draw the reply. The typed values also fill the gaps of a refusal's sentence."""

        async def ask_gate(caller: Caller, lang: str) -> FormattedReply:
            request = self._make_request(interaction, spec, typed)
            return await self._draw(spec, await self.gate.command(request, caller), lang)

        await self._reply(interaction, ask_gate, sentence_gaps(spec, typed))

    def _make_request(self, interaction: Interaction, spec: CommandSpec, typed: Typed) -> Request:
        links = {a.field for a in spec.arguments if a.kind == "message"}
        read = {f: _message_id_in(str(value)) if f in links else value for f, value in typed.items()}
        is_in_channel = self.callers.conversation(interaction).kind == "channel" and _takes_threads(interaction)
        if spec.request is Start and not is_in_channel:
            raise error(Code.E_NOT_IN_TEXT_CHANNEL)
        return request_from(spec, read, asked_by=str(interaction.id))

    async def _draw(self, spec: CommandSpec, reply: Reply, lang: str) -> FormattedReply:
        match reply:
            case SessionStarted():
                line = say(lang, "reply.session.started", thread=f"<#{reply.session_id}>")
                return FormattedReply(f"{line}\nsession_id: {reply.session_id}")
            case Spawned(returns="thread", session_id=session_id) if session_id:
                return FormattedReply(say(lang, "reply.session.started", thread=f"<#{session_id}>"))
            case SessionForkMade(is_here=False):
                return FormattedReply(describe_fork(reply, lang, at=f"<#{reply.session_id}>"))
            case SessionFound():
                return FormattedReply(
                    say(lang, "reply.session.opened", thread=await self._reopen_and_link(reply.session))
                )
            case _:
                from fairlead.channels.discord.commands.reply_format import draw_reply  # noqa: PLC0415 - at the first reply

                return draw_reply(spec.words, reply, lang)

    async def _reply(
        self,
        interaction: Interaction,
        ask_gate: Callable[[Caller, str], Awaitable[FormattedReply]],
        gaps: dict[str, str],
    ) -> None:
        # Discord waits three seconds, whatever the disk does: the acknowledgement comes before anything else.
        if not await acknowledge(interaction, ephemeral=True, thinking=True):
            return
        lang = self.callers.language(interaction)
        try:
            await self.callers.see(interaction)
            formatted = await ask_gate(self.callers.caller(interaction), lang)
        except FairleadError as refusal:
            formatted = FormattedReply(refusal_line(refusal, lang, **gaps))
        except DELIVERY_ERRORS as failure:
            log_failure("a command did not reach Discord", error(Code.E_DISCORD_RATE_LIMIT, repr(failure)))
            formatted = FormattedReply(refusal_line(error(Code.E_DISCORD_RATE_LIMIT), lang))
        except Exception as fault:  # a command that crashes is answered, and the next one works
            log_failure("a command crashed", fault)
            formatted = FormattedReply(refusal_line(error(Code.E_INTERNAL), lang))
        await self._show(interaction, formatted, lang)

    async def _show(self, interaction: Interaction, formatted: FormattedReply, lang: str) -> None:
        """Repeated while Discord takes replies to this command: the command has taken effect, and the person waits."""
        planned = plan_pieces(formatted.content, TEXT_LIMIT, _PIECES, lang=lang)
        first, *more = planned.messages or ("",)
        whole = formatted.file or planned.file

        def files(*, here: bool) -> list[discord.File]:
            name = formatted.file_name if formatted.file is not None else ANSWER_FILE
            return [discord.File(io.BytesIO(whole), filename=name)] if here and whole is not None else []

        async def begin(client: discord.Client) -> None:
            replies = _webhook_of(interaction, client)
            edit: dict[str, Any] = {"content": first or None, "embed": formatted.embed}
            await edit_reopening(
                self.rest,
                interaction.channel_id or 0,
                lambda: replies.edit_message(_ORIGINAL, **edit, attachments=files(here=not more)),
            )

        async def go_on(client: discord.Client, piece: str) -> None:
            await _webhook_of(interaction, client).send(piece, ephemeral=True, files=files(here=piece is more[-1]))

        try:
            async with asyncio.timeout(_REPLY_LIFE_SEC):
                await self.rest.until_done(Urgency.ANSWER, begin)
                for piece in more:
                    await self.rest.until_done(Urgency.ANSWER, partial(go_on, piece=piece))
        except (*DELIVERY_ERRORS, TimeoutError) as fault:
            log.warning("a reply was not shown", message=repr(fault))

    def choices(self, interaction: Interaction, argument: Argument, typed: str) -> list[app_commands.Choice[Any]]:
        caller = self.callers.caller(interaction)
        found = choices_for(argument, typed, lambda source, text: self.view.choices(source, text, caller))
        fitting = [c for c in found if 0 < len(c.value) <= CHOICE_LENGTH]
        numbers = argument.kind == "integer"
        return [
            app_commands.Choice(name=(c.label or c.value)[:CHOICE_LENGTH], value=int(c.value) if numbers else c.value)
            for c in fitting[:_CHOICES]
        ]

    async def _reopen_and_link(self, row: SessionRow) -> str:
        """A link to the session's own conversation, which is open when this returns. A session never moves."""
        conversation = row.conversation
        if conversation.channel != CHANNEL or not conversation.conversation_id.isdecimal():
            return f"{conversation.channel} ({row.session_id})"
        key = parse_session_key(row.session_key)
        if conversation.parent_conversation_id is None:
            return link_to(guild_of(key), conversation.conversation_id)
        thread_id = int(conversation.conversation_id)
        try:
            thread: Any = await self.rest.once(Urgency.ANSWER, lambda client: client.http.get_channel(thread_id))
            state: dict[str, Any] = thread.get("thread_metadata") or {}
            if state.get("locked"):
                raise error(Code.E_THREAD_ACCESS_FAILED, "The thread is locked.")
            if state.get("archived"):
                await unarchive(self.rest, thread_id, Urgency.ANSWER)
        except DELIVERY_ERRORS as failure:
            raise error(Code.E_THREAD_ACCESS_FAILED, str(failure.__cause__ or failure)) from failure
        return f"<#{thread_id}> {link_to(int(thread.get('guild_id') or 0) or None, thread_id)}"


def _webhook_of(interaction: Interaction, client: discord.Client) -> discord.Webhook:
    """The replies to an interaction are a webhook. It belongs to the client of the day, since the client that brought
    the interaction may be closed by now."""
    webhook = discord.Webhook.partial(interaction.application_id, interaction.token, client=client)
    webhook.type = discord.WebhookType.application  # only such a webhook may answer one person alone
    return webhook


def _takes_threads(interaction: Interaction) -> bool:
    return getattr(interaction.channel, "type", None) in {discord.ChannelType.text, discord.ChannelType.news}


def _message_id_in(typed: str) -> str:
    """The id in a link to a message; a job's id stays as it is."""
    return message_named(typed) or typed.strip()
