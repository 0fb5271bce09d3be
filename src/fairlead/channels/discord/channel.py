"""Discord as a channel of Fairlead: its parts put together, started and stopped as one."""

from collections.abc import Callable
from functools import partial
from typing import Final

from fairlead.channels.discord.bot_client import BotClientFactory
from fairlead.channels.discord.commands.runner import CommandRunner
from fairlead.channels.discord.gateway import client as clients
from fairlead.channels.discord.gateway.connection import Connection
from fairlead.channels.discord.gateway.registration import Registration
from fairlead.channels.discord.gateway_events import GatewayEvents
from fairlead.channels.discord.inbound.places import CHANNEL
from fairlead.channels.discord.outbound.messages import MAX_FILES, TEXT_LIMIT
from fairlead.channels.discord.parts import Outside, build_inbound, build_live, build_outbound
from fairlead.channels.discord.session_setup import SessionSetup
from fairlead.core.command_spec import CommandCatalogue
from fairlead.core.commands import COMMANDS
from fairlead.core.identity import Identities
from fairlead.core.inbound import Attachment
from fairlead.core.views import JobView
from fairlead.errors import Code
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log_failure
from fairlead.ports import Blobs, ChannelCapabilities, DeliveryImpossible, Gate, OutgoingMessage, View
from fairlead.settings import Settings

RECHECK_PATIENCE_SEC: Final = 20.0
"""A start holds a queued job back so long for the gateway; after that the job runs with the words it has."""


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
        clients.send_discord_log_to_ours()
        self.capabilities = _capabilities(settings)
        self._view = view
        self._owner = TaskOwner("discord", on_crash=_report_crash)
        outside = Outside(
            gate=gate, view=view, settings=settings, identities=identities, blobs=blobs, owner=self._owner
        )
        self._outbound = build_outbound(outside)
        self._inbound = build_inbound(outside, self._outbound)
        self._live = build_live(outside, self._outbound, self._inbound)
        self._connection = Connection(
            token=token,
            current=self._outbound.current_client,
            make_client=self._make_client_factory(outside, commands).make,
            came_back=partial(gate.came_back, CHANNEL),
        )

    def _make_client_factory(self, outside: Outside, commands: CommandCatalogue) -> BotClientFactory:
        settings, outbound, inbound, live = outside.settings, self._outbound, self._inbound, self._live
        events = GatewayEvents(
            identity=inbound.identity,
            callers=inbound.callers,
            messages=inbound.messages,
            button_clicks=live.button_clicks,
            session_setup=SessionSetup(
                outside.view,
                marks=live.marks,
                direct_messages=inbound.direct_messages,
                registration=Registration(outbound.rest, outside.state_dir, settings.discord_guild_id),
                left_over=live.left_over,
                owner=outside.owner,
            ),
            reaction_emoji=settings.reaction_emoji,
        )
        return BotClientFactory(
            listener=events,
            pace=clients.IdentifyPace(),
            command_runner=CommandRunner(outside.gate, outside.view, inbound.callers, outbound.rest),
            settings=settings,
            commands=commands,
        )

    # --- ports.Channel, ports.AttachmentFetcher and ports.MessageRechecker

    async def send(self, outgoing: OutgoingMessage) -> str:
        question = outgoing.question
        if question is None:
            return await self._outbound.sender.send(outgoing)
        current = self._view.question(question.question_id)
        if current is None or current.status != "open":
            raise DeliveryImpossible(Code.E_QUESTION_CLOSED, "settled while Discord was away")
        message_id = await self._outbound.sender.send(outgoing)
        self._live.button_clicks.remember(
            question.question_id,
            channel_id=int(outgoing.destination.conversation_id),
            message_id=int(message_id),
            text=outgoing.text,
            lang=outgoing.language,
        )
        return message_id

    async def find(self, outgoing: OutgoingMessage) -> str | None:
        return await self._outbound.sender.find(outgoing)

    async def fetch(self, job: JobView) -> tuple[Attachment, ...]:
        return await self._inbound.attachments.fetch(job)

    async def recheck(self, job: JobView) -> None:
        if await self._connection.until_connected(RECHECK_PATIENCE_SEC):
            await self._inbound.missed.recheck(job)

    # --- life

    def prepare(self) -> None:
        """In a start, before any job of this process starts: later, its own jobs would be among those left over."""
        self._live.left_over.note()

    async def run(self) -> None:
        """For ever; cancelling it ends all parts. Nothing that Discord does ends it."""
        async with self._owner as owner:
            owner.start(self._live.live_view.run(), name="live view")
            owner.start(self._connection.run(), name="connection")


def _capabilities(settings: Settings) -> ChannelCapabilities:
    return ChannelCapabilities(
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


def _report_crash(name: str, fault: Exception) -> None:
    log_failure("a part of the Discord channel crashed", fault, part=name)
