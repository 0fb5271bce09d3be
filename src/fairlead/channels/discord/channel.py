"""Discord as a channel of Fairlead: the parts put together, started and stopped as one."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import discord

from fairlead.channels.discord.commands.reply_format import refusal_line
from fairlead.channels.discord.commands.runner import CommandRunner
from fairlead.channels.discord.commands.tree import Tree
from fairlead.channels.discord.gateway import client as clients
from fairlead.channels.discord.gateway.connection import Connection
from fairlead.channels.discord.gateway.registration import Registration
from fairlead.channels.discord.inbound.attachments import MAX_FILE_BYTES, DiscordAttachments, Refused
from fairlead.channels.discord.inbound.callers import People
from fairlead.channels.discord.inbound.catch_up import Bounds, CatchUp, people_to_open
from fairlead.channels.discord.inbound.inbound_message import discord_message_id
from fairlead.channels.discord.inbound.messages import Deleted, Edited, Heard, Intake, Missed, Reacted
from fairlead.channels.discord.inbound.places import CHANNEL, Places
from fairlead.channels.discord.inbound.stranger_log import StrangerLog
from fairlead.channels.discord.live.button_clicks import ButtonClicks
from fairlead.channels.discord.live.live_view import DiscordLiveView
from fairlead.channels.discord.live.marks import FAILED
from fairlead.channels.discord.live.status import close_left_over, left_over
from fairlead.channels.discord.outbound.messages import MAX_FILES, TEXT_LIMIT, MessageSender, megabytes
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.discord.outbound.webhooks import Webhooks
from fairlead.channels.push.rate_limit import RateLimit, Urgency
from fairlead.core.command_spec import CommandCatalogue
from fairlead.core.commands import COMMANDS
from fairlead.core.identity import Identities
from fairlead.core.inbound import Attachment
from fairlead.core.views import JobView
from fairlead.errors import Code, FairleadError
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log, log_failure
from fairlead.ports import Blobs, ChannelCapabilities, DeliveryImpossible, Gate, OutgoingMessage, View
from fairlead.render.words import say
from fairlead.settings import Settings

INBOX_NAME: Final = "inbox"
PATIENCE_SEC: Final = 20.0


class BotClient(clients.GatewayClient):
    """The client with the runner of its commands, where they find it."""

    def __init__(
        self,
        *,
        listener: clients.GatewayListener,
        pace: clients.IdentifyPace,
        command_runner: CommandRunner,
        settings: Settings,
        commands: CommandCatalogue,
    ) -> None:
        super().__init__(
            listener,
            pace,
            settings.discord_app_id,
            heartbeat_timeout_sec=settings.discord_heartbeat_timeout_sec,
        )
        self.command_runner = command_runner
        self.tree = Tree(self, commands)


class DiscordChannel:
    """Implements `ports.Channel`, `ports.AttachmentFetcher` and `ports.MessageRechecker`. Register it, then run it."""

    name = CHANNEL

    def __init__(
        self,
        gate: Gate,
        view: View,
        *,
        settings: Settings,
        identities: Identities,
        blobs: Blobs,
        token: Callable[[], str],
        commands: CommandCatalogue = COMMANDS,
    ) -> None:
        clients.point_at(settings.discord_api_base, settings.discord_gateway_url)
        clients.keep_their_log()
        state_id = view.state_id
        self.capabilities = ChannelCapabilities(
            text_limit=TEXT_LIMIT,
            max_pieces=settings.max_pieces,
            max_files=MAX_FILES,
            edits=True,
            files=True,
            threads=True,
            push=True,
            tables=False,
            busy_code=Code.E_DISCORD_RATE_LIMIT,
        )
        self._gate = gate
        self._view = view
        self._settings = settings
        self._commands = commands
        self._pace = clients.IdentifyPace()
        self.connection = Connection(token=token, make_client=self._new_client, came_back=self._came_back)
        self._rest = RestCalls(RateLimit(), lambda: self.connection.client, self._came_back)
        self._sent_nonces = SentNonces(state_id)
        self._places = Places(settings.agent_id, identities, settings.discord_guild_id)
        stranger_log = StrangerLog()
        self._people = People(
            gate,
            view,
            self._places,
            stranger_log,
            silent=settings.strangers == "silent",
            default_language=settings.lang,
        )
        webhooks = Webhooks(self._rest, self._name_of) if settings.webhook_identity else None
        self._sender = MessageSender(self._rest, blobs, self._sent_nonces, state_id=state_id, webhooks=webhooks)
        self._attachments = DiscordAttachments(
            self._rest,
            blobs,
            hosts=settings.discord_cdn_hosts,
            inbox=Path(settings.state_dir) / INBOX_NAME,
            tell=self._tell_refused,
        )
        self._catch_up_reader = CatchUp(self._rest, view, Bounds(settings.catch_up_hours, settings.catch_up_messages))
        self._intake = Intake(
            gate=gate,
            view=view,
            places=self._places,
            rest=self._rest,
            stranger_log=stranger_log,
            refuse=self._refuse,
            look_back=self._catch_up_reader.missed,
        )
        self._button_clicks = ButtonClicks(gate, view, self._rest, self._people)
        self._command_runner = CommandRunner(gate, view, self._people, self._rest)
        self._live_view = DiscordLiveView(
            view,
            self._rest,
            self._sent_nonces,
            self._button_clicks,
            least_interval_sec=settings.status_edit_min_interval_ms / 1000,
            tool_aware=settings.tool_aware_streaming,
        )
        self._registration = Registration(self._rest, Path(settings.state_dir), settings.discord_guild_id)
        self._owner: TaskOwner | None = None
        self._left_over: list[JobView] = []
        self._settling: list[asyncio.Task[None]] = []

    # --- ports.Channel, ports.AttachmentFetcher and ports.MessageRechecker

    async def send(self, outgoing: OutgoingMessage) -> str:
        if outgoing.question is not None and not self._is_open(outgoing.question.question_id):
            raise DeliveryImpossible(Code.E_QUESTION_CLOSED, "settled while Discord was away")
        message_id = await self._sender.send(outgoing)
        if outgoing.question is not None:
            self._button_clicks.stands(
                outgoing.question.question_id,
                channel_id=int(outgoing.destination.conversation_id),
                message_id=int(message_id),
                text=outgoing.text,
                lang=outgoing.language,
            )
        return message_id

    def _is_open(self, question_id: str) -> bool:
        question = self._view.question(question_id)
        return question is not None and question.status == "open"

    async def find(self, outgoing: OutgoingMessage) -> str | None:
        return await self._sender.find(outgoing)

    async def fetch(self, job: JobView) -> tuple[Attachment, ...]:
        return await self._attachments.fetch(job)

    async def recheck(self, job: JobView) -> None:
        if await self.connection.until_connected(PATIENCE_SEC):
            await self._intake.recheck(job)

    # --- life

    def prepare(self) -> None:
        """In a start, before any job of this process starts: later, its own jobs would be among those left over."""
        self._left_over = left_over(self._view)

    async def run(self) -> None:
        """For ever; cancelling it ends all. Nothing that Discord does ends it."""
        async with TaskOwner("discord", on_crash=_report) as owner:
            self._owner = owner
            owner.start(self._live_view.run(), name="showing")
            owner.start(self._intake.run(), name="intake")
            owner.start(self.connection.run(), name="connection")

    def _came_back(self) -> None:
        self._gate.came_back(self.name)

    def _new_client(self) -> clients.GatewayClient:
        return BotClient(
            listener=self,
            pace=self._pace,
            command_runner=self._command_runner,
            settings=self._settings,
            commands=self._commands,
        )

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        assert self._owner is not None, "clients exist only while we run"
        return self._owner.start(work, name=name)

    # --- clients.GatewayListener

    def on_new_session(self, client: discord.Client) -> None:
        self._intake.bot_id = client.user.id if client.user is not None else 0
        self._intake.our_applications = frozenset(filter(None, (client.application_id,)))
        oldest = self._catch_up_reader.oldest()
        for channel_id, since in self._catch_up_reader.begin().items():
            self._intake.put(channel_id, Missed(since, oldest))
        if self._live_view.marks is not None:
            self._live_view.marks.restore(self._view.unsettled_jobs(CHANNEL))
        self._settle_in(client)

    def _settle_in(self, client: discord.Client) -> None:
        """What a new gateway session needs besides. Each insists, so none waits for another; and what the session
        before it still insists on, is asked for anew."""
        for task in self._settling:
            task.cancel()
        self._settling = [
            self._start(self._open_direct_messages(), "direct messages"),
            self._start(self._register(client), "commands"),
            self._start(self._close_left_over(), "old statuses"),
        ]

    async def _register(self, client: discord.Client) -> None:
        assert isinstance(client, BotClient)
        assert client.tree is not None
        try:
            await self._registration.bring_up_to_date(client, client.tree)
        except DELIVERY_ERRORS as condition:
            log.error("commands not registered", message=repr(condition.__cause__ or condition))

    async def _close_left_over(self) -> None:
        while self._left_over:
            await close_left_over(self._rest, self._left_over[-1], self._view)
            self._left_over.pop()

    async def _open_direct_messages(self) -> None:
        settings = self._settings
        for user_id in people_to_open(settings.discord_owner_id, settings.allowed_user_ids):
            try:
                opened: Any = await self._rest.until_done(
                    Urgency.CATCH_UP, lambda c, u=user_id: c.http.start_private_message(u)
                )
            except DELIVERY_ERRORS as condition:
                log.info("no direct messages with", user_id=str(user_id), message=repr(condition))
                continue
            channel_id = int(opened["id"])
            conversation = self._places.ref(channel_id)
            if self._view.conversation(conversation) is None:
                since = self._view.last_message_seen(conversation) or 0
                self._intake.put(channel_id, Missed(since, self._catch_up_reader.oldest()))

    def on_message(self, message: discord.Message) -> None:
        if message.author.id == self._intake.bot_id:
            nonce = None if message.nonce is None else str(message.nonce)
            if not self._sent_nonces.heard(nonce, message.id):
                self._halt()
            return
        self._intake.put(message.channel.id, Heard(message))

    def _halt(self) -> None:
        """Two daemons on one token would answer everything twice."""
        if not self._intake.halted:
            self._intake.halted = "another daemon uses this bot's token"
            log.error(
                "discord",
                message="Another Fairlead sends with this bot's token. This one takes no more messages from Discord: "
                "stop one of them, or give each its own bot.",
            )

    def on_edit(self, message: discord.Message) -> None:
        self._intake.put(message.channel.id, Edited(message))

    def on_delete(self, channel_id: int, message_id: int) -> None:
        self._intake.put(channel_id, Deleted(message_id))

    def on_reaction(self, reaction: discord.RawReactionActionEvent) -> None:
        wanted = self._settings.reaction_emoji
        if not wanted or str(reaction.emoji) != wanted or reaction.user_id == self._intake.bot_id:
            return
        if not self._places.serves(reaction.guild_id) or not self._gate.allows(self._people.person(reaction.user_id)):
            return
        self._intake.put(reaction.channel_id, Reacted(reaction.message_id, reaction.user_id, reaction.guild_id))

    async def on_click(self, interaction: discord.Interaction[Any]) -> None:
        await self._button_clicks.clicked(interaction)

    # --- small words

    async def _refuse(self, message: discord.Message, refusal: FairleadError) -> None:
        """Told where it was said, with its code; a refusal that cannot be told is in the log."""
        if self._live_view.marks is not None:
            self._live_view.marks.want(message.channel.id, message.id, FAILED)
        lang = self._view.language_of(self._people.person(message.author.id))
        await self._remark(message.channel.id, message.id, refusal_line(refusal, lang))

    async def _tell_refused(self, job: JobView, name: str, refused: Refused) -> None:
        """A file that is not passed on is named to the person, never dropped silently."""
        lang = self._view.language_of(job.person)
        line = say(lang, "reply.file.refused", name=name, reason=str(refused))
        if refused.size:
            limit = megabytes(MAX_FILE_BYTES)
            line = say(lang, "reply.file.too_large", name=name, size=megabytes(refused.size), limit=limit)
        message_id = discord_message_id(job)
        if message_id is not None:
            await self._remark(int(job.conversation.conversation_id), message_id, line)

    async def _remark(self, channel_id: int, message_id: int, text: str) -> None:
        """A word about a message, under it. Not owed: a remark that cannot be sent is in the log."""
        nonce = self._sent_nonces.nonce(f"remark {message_id} {text}")
        reference = discord.MessageReference(message_id=message_id, channel_id=channel_id, fail_if_not_exists=False)
        try:
            await self._rest.once(
                Urgency.ANSWER,
                lambda client: client.get_partial_messageable(channel_id).send(text, nonce=nonce, reference=reference),
            )
        except DELIVERY_ERRORS as condition:
            log.warning("a remark was not told", message_id=str(message_id), message=f"{text} ({condition!r})")

    def _name_of(self, outgoing: OutgoingMessage) -> str:
        session = self._view.session(outgoing.session_key)
        return f"{session.project} · {session.runtime}" if session is not None else "Fairlead"


def _report(name: str, fault: Exception) -> None:
    if not isinstance(fault, asyncio.CancelledError):
        log_failure("a part of the Discord channel crashed", fault, part=name)
