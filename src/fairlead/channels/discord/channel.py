"""Discord as a channel of Fairlead: its parts put together, started and stopped as one."""

from collections.abc import Callable
from functools import partial

from fairlead.channels.discord.bot_client import BotEquipment
from fairlead.channels.discord.commands.card_clicks import CardClicks
from fairlead.channels.discord.commands.runner import CommandRunner
from fairlead.channels.discord.gateway.client_maker import ClientMaker
from fairlead.channels.discord.gateway.connection import Connection
from fairlead.channels.discord.gateway.first_connection import FirstConnection
from fairlead.channels.discord.gateway.registration import Registration
from fairlead.channels.discord.gateway_events import GatewayEvents
from fairlead.channels.discord.inbound.conversations import CHANNEL
from fairlead.channels.discord.outbound.mentions import mention_text
from fairlead.channels.discord.outbound.messages import MAX_FILES, TEXT_LIMIT
from fairlead.channels.discord.parts import ChannelNeeds, build_inbound, build_live, build_outbound
from fairlead.channels.discord.session_setup import SessionSetup
from fairlead.core.command_spec import CommandCatalogue
from fairlead.core.commands import COMMANDS
from fairlead.core.identity import Identities
from fairlead.core.inbound import Attachment
from fairlead.core.views import JobView
from fairlead.errors import Code
from fairlead.kit.durations import DurationMeter
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log_failure, take_over_log
from fairlead.ports import Blobs, ChannelCapabilities, DeliveryImpossible, Gate, Mentions, OutgoingMessage, View
from fairlead.settings import Settings


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
        first: FirstConnection | None = None,
        waits: DurationMeter | None = None,
    ) -> None:
        """`first` is what the start has begun already; `waits` is told how long calls wait for the rate limit."""
        take_over_log("discord")
        self.capabilities = _capabilities(settings, identities)
        self._view = view
        self._owner = TaskOwner("discord", on_crash=_report_crash)
        needs = ChannelNeeds(
            gate=gate, view=view, settings=settings, identities=identities, blobs=blobs, owner=self._owner, waits=waits
        )
        self._outbound = build_outbound(needs)
        self._inbound = build_inbound(needs, self._outbound)
        self._live = build_live(needs, self._outbound, self._inbound)
        self._connection = Connection(
            token=token,
            current=self._outbound.current_client,
            clients=ClientMaker.from_settings(settings) if first is None else first.clients,
            equip=self._make_equipment(needs, commands).give_to,
            first=None if first is None else first.attempt,
            came_back=partial(gate.came_back, CHANNEL),
            others=self._outbound.others,
        )

    def _make_equipment(self, needs: ChannelNeeds, commands: CommandCatalogue) -> BotEquipment:
        settings, outbound, inbound, live = needs.settings, self._outbound, self._inbound, self._live
        runner = CommandRunner(
            gate=needs.gate,
            view=needs.view,
            callers=inbound.callers,
            rest=outbound.rest,
            others=outbound.others,
        )
        events = GatewayEvents(
            identity=inbound.identity,
            callers=inbound.callers,
            messages=inbound.messages,
            component_handlers=(
                live.button_clicks,
                live.retry_clicks,
                live.steer_clicks,
                live.project_choices,
                CardClicks(runner, commands),
            ),
            access=outbound.access,
            others=outbound.others,
            session_setup=SessionSetup(
                marks=live.marks,
                untold_refusals=inbound.untold_refusals,
                direct_messages=inbound.direct_messages,
                registration=Registration(outbound.rest, needs.state_dir, settings.discord_guild_id),
                left_over=live.left_over,
                owner=needs.owner,
            ),
            reaction_emoji=settings.reaction_emoji,
        )
        return BotEquipment(
            listener=events,
            command_runner=runner,
            commands=commands,
        )

    # --- ports.Channel, ports.AttachmentFetcher and ports.MessageRechecker

    async def send(self, outgoing: OutgoingMessage) -> str:
        question = outgoing.question
        if outgoing.reminds_of:
            return await self._send_reminder(outgoing)
        if question is None:
            return await self._outbound.sender.send(outgoing)
        current = self._view.question(question.question_id)
        if current is None or current.status != "open":
            raise DeliveryImpossible(Code.E_QUESTION_CLOSED, "settled while Discord was away")
        await self._live.live_view.until_posted(outgoing.job_id)
        message_id = await self._outbound.sender.send(outgoing)
        self._live.button_clicks.remember(
            question.question_id,
            channel_id=int(outgoing.destination.conversation_id),
            message_id=int(message_id),
            text=outgoing.text,
            lang=outgoing.language,
        )
        return message_id

    async def _send_reminder(self, outgoing: OutgoingMessage) -> str:
        message_id = await self._outbound.sender.send(outgoing)
        channel_id = int(outgoing.destination.conversation_id)
        self._live.reminders.note_sent(outgoing.reminds_of, channel_id, int(message_id))
        return message_id

    async def find(self, outgoing: OutgoingMessage) -> str | None:
        return await self._outbound.sender.find(outgoing)

    async def fetch(self, job: JobView) -> tuple[Attachment, ...]:
        return await self._inbound.attachments.fetch(job)

    async def recheck(self, job: JobView) -> None:
        await self._connection.until_connected()
        await self._inbound.missed.recheck(job)

    # --- life

    def prepare(self) -> None:
        """In a start, before any job of this process starts: later, its own jobs would be among those left over."""
        self._live.left_over.note()
        self._live.marks.note_ends()
        self._inbound.untold_refusals.note()

    async def run(self) -> None:
        """For ever; cancelling it ends all parts. Nothing that Discord does ends it."""
        async with self._owner as owner:
            self._live.reminders.restore()
            owner.start(self._live.live_view.run(), name="live view")
            owner.start(self._connection.run(), name="connection")


def _capabilities(settings: Settings, identities: Identities) -> ChannelCapabilities:
    return ChannelCapabilities(
        text_limit=TEXT_LIMIT,
        max_pieces=settings.max_pieces,
        max_files=MAX_FILES,
        edits=True,
        files=True,
        threads=True,
        thread_link=lambda thread_id: f"<#{thread_id}>",
        push=True,
        tables=False,
        buttons=True,
        small_print="-# ",
        mentions=Mentions(
            rule=settings.ping_rule(), accounts_of=partial(identities.accounts_of, CHANNEL), text_of=mention_text
        ),
        busy_code=Code.E_DISCORD_RATE_LIMIT,
    )


def _report_crash(name: str, fault: Exception) -> None:
    log_failure("a part of the Discord channel crashed", fault, part=name)
