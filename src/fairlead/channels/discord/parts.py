"""The parts of the Discord channel, put together from the lowest to the highest: outbound, inbound, live."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from fairlead.channels.discord.inbound.attachments import DiscordAttachments
from fairlead.channels.discord.inbound.bot_identity import BotIdentity
from fairlead.channels.discord.inbound.callers import Callers
from fairlead.channels.discord.inbound.catch_up import CatchUp, CatchUpBounds
from fairlead.channels.discord.inbound.conversations import CHANNEL, DiscordConversations
from fairlead.channels.discord.inbound.direct_messages import DirectMessages
from fairlead.channels.discord.inbound.message_handler import MessageHandler
from fairlead.channels.discord.inbound.message_reader import MessageReader
from fairlead.channels.discord.inbound.messages import InboundMessages
from fairlead.channels.discord.inbound.missed_messages import MissedMessages
from fairlead.channels.discord.inbound.stranger_log import StrangerLog
from fairlead.channels.discord.inbound.untold_refusals import UntoldRefusals
from fairlead.channels.discord.live.button_clicks import ButtonClicks
from fairlead.channels.discord.live.left_over_statuses import LeftOverStatuses
from fairlead.channels.discord.live.live_view import DiscordLiveView
from fairlead.channels.discord.live.project_choices import ProjectChoices
from fairlead.channels.discord.live.question_reminders import NEVER, QuestionReminders
from fairlead.channels.discord.live.queue_notes import QueueNotes
from fairlead.channels.discord.live.retry_clicks import RetryClicks
from fairlead.channels.discord.live.steer_clicks import SteerClicks
from fairlead.channels.discord.live.thread_titles import ThreadTitles
from fairlead.channels.discord.outbound.access_watch import AccessWatch
from fairlead.channels.discord.outbound.message_marks import MessageMarks
from fairlead.channels.discord.outbound.messages import MessageSender
from fairlead.channels.discord.outbound.other_daemons import OtherDaemons
from fairlead.channels.discord.outbound.remarks import Remarks
from fairlead.channels.discord.outbound.rest import CALLS_PER_SECOND, CurrentClient, RestCalls
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.discord.outbound.webhooks import Webhooks
from fairlead.channels.push.job_marks import JobMarks
from fairlead.channels.push.rate_limit import RateLimit
from fairlead.core.identity import Identities
from fairlead.kit.durations import DurationMeter
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import Blobs, Gate, View
from fairlead.settings import Settings


class ChannelNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """What the channel is given from outside, and the owner of all the tasks that its parts start."""

    gate: Gate
    view: View
    settings: Settings
    identities: Identities
    blobs: Blobs
    owner: TaskOwner
    waits: DurationMeter | None = None

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
    access: AccessWatch
    others: OtherDaemons


class InboundParts(msgspec.Struct, frozen=True, kw_only=True):
    identity: BotIdentity
    conversations: DiscordConversations
    callers: Callers
    attachments: DiscordAttachments
    handler: MessageHandler
    messages: InboundMessages
    missed: MissedMessages
    direct_messages: DirectMessages
    untold_refusals: UntoldRefusals


class LiveParts(msgspec.Struct, frozen=True, kw_only=True):
    button_clicks: ButtonClicks
    retry_clicks: RetryClicks
    steer_clicks: SteerClicks
    project_choices: ProjectChoices
    reminders: QuestionReminders
    marks: JobMarks
    left_over: LeftOverStatuses
    live_view: DiscordLiveView


def build_outbound(needs: ChannelNeeds) -> OutboundParts:
    view = needs.view
    current_client = CurrentClient()
    came_back = partial(needs.gate.came_back, CHANNEL)
    rest = RestCalls(RateLimit(CALLS_PER_SECOND, waits=needs.waits), current_client, came_back)
    access = AccessWatch(came_back)
    sent_nonces = SentNonces(view.state_id)
    marks = MessageMarks(rest, needs.owner)
    webhooks = Webhooks(rest, view) if needs.settings.webhook_identity else None
    return OutboundParts(
        current_client=current_client,
        rest=rest,
        sent_nonces=sent_nonces,
        sender=MessageSender(rest, needs.blobs, sent_nonces, state_id=view.state_id, webhooks=webhooks, access=access),
        marks=marks,
        remarks=Remarks(rest, sent_nonces, view, marks, owner=needs.owner, accounts_of=_ringing_accounts(needs)),
        access=access,
        others=OtherDaemons(
            rest,
            view,
            needs.owner,
            owner_id=needs.settings.discord_owner_id,
            language=needs.settings.lang,
        ),
    )


def _ringing_accounts(needs: ChannelNeeds) -> Callable[[str], tuple[str, ...]]:
    if needs.settings.ping == "never":
        return lambda _person: ()
    return partial(needs.identities.accounts_of, CHANNEL)


def build_inbound(needs: ChannelNeeds, outbound: OutboundParts) -> InboundParts:
    gate, view, settings, rest = needs.gate, needs.view, needs.settings, outbound.rest
    identity, stranger_log = BotIdentity(), StrangerLog()
    conversations = DiscordConversations(settings.agent_id, needs.identities, settings.discord_guild_id)
    catch_up = CatchUp(rest, view, CatchUpBounds(settings.catch_up_hours, settings.catch_up_messages))
    reader = MessageReader(
        gate, view, conversations=conversations, rest=rest, stranger_log=stranger_log, identity=identity
    )
    handler = MessageHandler(
        gate, view, conversations=conversations, rest=rest, reader=reader, remarks=outbound.remarks
    )
    missed = MissedMessages(
        gate,
        view,
        conversations=conversations,
        rest=rest,
        reader=reader,
        handler=handler,
        catch_up=catch_up,
        identity=identity,
    )
    messages = InboundMessages(
        identity=identity,
        sent_nonces=outbound.sent_nonces,
        handler=handler,
        missed=missed,
        catch_up=catch_up,
        owner=needs.owner,
        view=view,
        others=outbound.others,
    )
    return InboundParts(
        identity=identity,
        conversations=conversations,
        callers=_build_callers(needs, conversations, stranger_log),
        attachments=_build_attachments(needs, outbound),
        handler=handler,
        messages=messages,
        missed=missed,
        direct_messages=_build_direct_messages(needs, outbound, conversations, messages),
        untold_refusals=UntoldRefusals(
            view, conversations=conversations, catch_up=catch_up, identity=identity, remarks=outbound.remarks
        ),
    )


def _build_callers(needs: ChannelNeeds, conversations: DiscordConversations, stranger_log: StrangerLog) -> Callers:
    settings = needs.settings
    return Callers(
        needs.gate,
        needs.view,
        conversations,
        stranger_log,
        silent=settings.strangers == "silent",
        default_language=settings.lang,
    )


def _build_attachments(needs: ChannelNeeds, outbound: OutboundParts) -> DiscordAttachments:
    return DiscordAttachments(
        outbound.rest,
        needs.blobs,
        hosts=needs.settings.discord_cdn_hosts,
        remarks=outbound.remarks,
    )


def _build_direct_messages(
    needs: ChannelNeeds, outbound: OutboundParts, conversations: DiscordConversations, messages: InboundMessages
) -> DirectMessages:
    settings = needs.settings
    return DirectMessages(
        needs.view,
        rest=outbound.rest,
        conversations=conversations,
        messages=messages,
        user_ids=(settings.discord_owner_id, *settings.allowed_user_ids),
    )


def build_live(needs: ChannelNeeds, outbound: OutboundParts, inbound: InboundParts) -> LiveParts:
    view, rest = needs.view, outbound.rest
    button_clicks = ButtonClicks(needs.gate, view, rest, inbound.callers)
    marks = JobMarks(CHANNEL, view, outbound.marks.want_in)
    reminders = _build_reminders(needs, outbound, inbound, button_clicks)
    live_view = DiscordLiveView(
        view,
        rest=rest,
        sent_nonces=outbound.sent_nonces,
        button_clicks=button_clicks,
        marks=marks,
        queue_notes=QueueNotes(view, rest, outbound.sent_nonces, needs.owner),
        titles=ThreadTitles(needs.gate, view, rest=rest, identity=inbound.identity, owner=needs.owner),
        reminders=reminders,
        remarks=outbound.remarks,
        settings=needs.settings,
        owner=needs.owner,
    )
    return LiveParts(
        button_clicks=button_clicks,
        retry_clicks=RetryClicks(needs.gate, rest, inbound.callers),
        steer_clicks=SteerClicks(needs.gate, inbound.callers),
        project_choices=ProjectChoices(needs.gate, view, rest=rest, callers=inbound.callers, handler=inbound.handler),
        reminders=reminders,
        marks=marks,
        left_over=LeftOverStatuses(view, rest),
        live_view=live_view,
    )


def _build_reminders(
    needs: ChannelNeeds, outbound: OutboundParts, inbound: InboundParts, button_clicks: ButtonClicks
) -> QuestionReminders:
    settings = needs.settings
    return QuestionReminders(
        needs.gate,
        needs.view,
        rest=outbound.rest,
        conversations=inbound.conversations,
        button_clicks=button_clicks,
        owner_id=settings.discord_owner_id,
        after_sec=NEVER if settings.ping == "never" else settings.remind_after_sec,
        tasks=needs.owner,
    )
