"""The parts of the Discord channel, put together from the lowest to the highest: outbound, inbound, live."""

from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from fairlead.channels.discord.inbound.attachments import DiscordAttachments
from fairlead.channels.discord.inbound.bot_identity import BotIdentity
from fairlead.channels.discord.inbound.callers import Callers
from fairlead.channels.discord.inbound.catch_up import CatchUp, CatchUpBounds
from fairlead.channels.discord.inbound.direct_messages import DirectMessages
from fairlead.channels.discord.inbound.message_handler import MessageHandler
from fairlead.channels.discord.inbound.message_reader import MessageReader
from fairlead.channels.discord.inbound.messages import InboundMessages
from fairlead.channels.discord.inbound.missed_messages import MissedMessages
from fairlead.channels.discord.inbound.places import CHANNEL, Places
from fairlead.channels.discord.inbound.stranger_log import StrangerLog
from fairlead.channels.discord.live.button_clicks import ButtonClicks
from fairlead.channels.discord.live.job_marks import JobMarks
from fairlead.channels.discord.live.left_over_statuses import LeftOverStatuses
from fairlead.channels.discord.live.live_view import DiscordLiveView
from fairlead.channels.discord.outbound.message_marks import MessageMarks
from fairlead.channels.discord.outbound.messages import MessageSender
from fairlead.channels.discord.outbound.remarks import Remarks
from fairlead.channels.discord.outbound.rest import CALLS_PER_SECOND, CurrentClient, RestCalls
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.discord.outbound.webhooks import Webhooks
from fairlead.channels.push.rate_limit import RateLimit
from fairlead.core.identity import Identities
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import Blobs, Gate, View
from fairlead.settings import Settings

INBOX_NAME: Final = "inbox"


class Outside(msgspec.Struct, frozen=True, kw_only=True):
    """What the channel is given, and the owner of all the tasks that its parts start."""

    gate: Gate
    view: View
    settings: Settings
    identities: Identities
    blobs: Blobs
    owner: TaskOwner

    @property
    def state_dir(self) -> Path:
        return Path(self.settings.state_dir)


class OutboundParts(msgspec.Struct, frozen=True, kw_only=True):
    current_client: CurrentClient
    rest: RestCalls
    sent_nonces: SentNonces
    sender: MessageSender
    marks: MessageMarks
    remarks: Remarks


class InboundParts(msgspec.Struct, frozen=True, kw_only=True):
    identity: BotIdentity
    callers: Callers
    attachments: DiscordAttachments
    messages: InboundMessages
    missed: MissedMessages
    direct_messages: DirectMessages


class LiveParts(msgspec.Struct, frozen=True, kw_only=True):
    button_clicks: ButtonClicks
    marks: JobMarks
    left_over: LeftOverStatuses
    live_view: DiscordLiveView


def build_outbound(outside: Outside) -> OutboundParts:
    view = outside.view
    current_client = CurrentClient()
    rest = RestCalls(RateLimit(CALLS_PER_SECOND), current_client, partial(outside.gate.came_back, CHANNEL))
    sent_nonces = SentNonces(view.state_id)
    marks = MessageMarks(rest, outside.owner)
    webhooks = Webhooks(rest, view) if outside.settings.webhook_identity else None
    return OutboundParts(
        current_client=current_client,
        rest=rest,
        sent_nonces=sent_nonces,
        sender=MessageSender(rest, outside.blobs, sent_nonces, state_id=view.state_id, webhooks=webhooks),
        marks=marks,
        remarks=Remarks(rest, sent_nonces, view, marks),
    )


def build_inbound(outside: Outside, outbound: OutboundParts) -> InboundParts:
    gate, view, settings, rest = outside.gate, outside.view, outside.settings, outbound.rest
    identity, stranger_log = BotIdentity(), StrangerLog()
    places = Places(settings.agent_id, outside.identities, settings.discord_guild_id)
    catch_up = CatchUp(rest, view, CatchUpBounds(settings.catch_up_hours, settings.catch_up_messages))
    reader = MessageReader(gate, view, places=places, rest=rest, stranger_log=stranger_log, identity=identity)
    handler = MessageHandler(gate, view, places=places, rest=rest, reader=reader, remarks=outbound.remarks)
    missed = MissedMessages(gate, view, places=places, rest=rest, reader=reader, handler=handler, catch_up=catch_up)
    messages = InboundMessages(
        identity=identity,
        sent_nonces=outbound.sent_nonces,
        handler=handler,
        missed=missed,
        catch_up=catch_up,
        owner=outside.owner,
    )
    return InboundParts(
        identity=identity,
        callers=_build_callers(outside, places, stranger_log),
        attachments=_build_attachments(outside, outbound),
        messages=messages,
        missed=missed,
        direct_messages=_build_direct_messages(outside, outbound, places, messages),
    )


def _build_callers(outside: Outside, places: Places, stranger_log: StrangerLog) -> Callers:
    settings = outside.settings
    return Callers(
        outside.gate,
        outside.view,
        places,
        stranger_log,
        silent=settings.strangers == "silent",
        default_language=settings.lang,
    )


def _build_attachments(outside: Outside, outbound: OutboundParts) -> DiscordAttachments:
    return DiscordAttachments(
        outbound.rest,
        outside.blobs,
        hosts=outside.settings.discord_cdn_hosts,
        inbox=outside.state_dir / INBOX_NAME,
        remarks=outbound.remarks,
    )


def _build_direct_messages(
    outside: Outside, outbound: OutboundParts, places: Places, messages: InboundMessages
) -> DirectMessages:
    settings = outside.settings
    return DirectMessages(
        outside.view,
        rest=outbound.rest,
        places=places,
        messages=messages,
        user_ids=(settings.discord_owner_id, *settings.allowed_user_ids),
    )


def build_live(outside: Outside, outbound: OutboundParts, inbound: InboundParts) -> LiveParts:
    view, rest = outside.view, outbound.rest
    button_clicks = ButtonClicks(outside.gate, view, rest, inbound.callers)
    marks = JobMarks(outbound.marks)
    live_view = DiscordLiveView(
        view,
        rest=rest,
        sent_nonces=outbound.sent_nonces,
        button_clicks=button_clicks,
        marks=marks,
        settings=outside.settings,
        owner=outside.owner,
    )
    return LiveParts(
        button_clicks=button_clicks, marks=marks, left_over=LeftOverStatuses(view, rest), live_view=live_view
    )
