"""Structs of the model as Discord's JSON. Pure: whoever calls brings clock, base address and viewpoint."""

import hashlib
import re
import struct
from typing import Any
from urllib.parse import quote

from .clock import Clock
from .model import (
    THREAD_STARTER,
    Allow,
    Application,
    Attachment,
    Channel,
    Guild,
    Member,
    Message,
    User,
    Webhook,
)

ATTACHMENT_LIFE_S = 24 * 3600


def user_json(user: User) -> dict[str, Any]:
    return {
        "id": str(user.id), "username": user.username, "global_name": user.global_name, "avatar": None,
        "discriminator": "0000" if user.bot else "0", "public_flags": 0, "flags": 0, "bot": user.bot,
        "primary_guild": None, "avatar_decoration_data": None,
    }  # fmt: skip


def own_user_json(user: User) -> dict[str, Any]:
    return {**user_json(user), "mfa_enabled": False, "locale": user.locale, "verified": True, "email": None}


def member_json(member: Member, guild: Guild) -> dict[str, Any]:
    roles = [str(guild.bot_role_id)] if member.user.bot else []
    return {
        "user": user_json(member.user), "nick": member.nick, "avatar": None, "banner": None, "roles": roles,
        "joined_at": member.joined_at, "premium_since": None, "deaf": False, "mute": False, "pending": False,
        "communication_disabled_until": None, "flags": 0,
    }  # fmt: skip


def application_json(app: Application, guild_count: int) -> dict[str, Any]:
    return {
        "id": str(app.id), "name": app.name, "icon": None, "description": "", "type": None,
        "bot": user_json(app.bot),
        "bot_public": True, "bot_require_code_grant": False, "verify_key": "0" * 64, "flags": app.flags,
        "flags_new": str(app.flags), "redirect_uris": [], "interactions_endpoint_url": None,
        "role_connections_verification_url": None, "owner": user_json(app.owner), "rpc_origins": [],
        "approximate_guild_count": guild_count, "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0, "explicit_content_filter": 0, "team": None,
        "eligible_oauth2_scopes": [],
    }  # fmt: skip


def role_json(role_id: int, name: str, permissions: int, *, position: int, managed: bool) -> dict[str, Any]:
    return {
        "id": str(role_id), "name": name, "permissions": str(permissions), "position": position, "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None}, "hoist": False,
        "managed": managed, "mentionable": False, "icon": None, "unicode_emoji": None, "flags": 0,
    }  # fmt: skip


def features(guild: Guild) -> list[str]:
    """Only a community can choose its language."""
    return ["COMMUNITY"] if guild.locale != "en-US" else []


def guild_json(guild: Guild) -> dict[str, Any]:
    bot_id = next((member.user.id for member in guild.members.values() if member.user.bot), 0)
    return {
        "id": str(guild.id), "name": guild.name, "icon": None, "description": None, "home_header": None,
        "splash": None, "discovery_splash": None, "features": features(guild), "banner": None,
        "owner_id": str(guild.owner_id),
        "application_id": None, "region": "us-central", "afk_channel_id": None, "afk_timeout": 300,
        "system_channel_id": None, "system_channel_flags": 0, "widget_enabled": False,
        "widget_channel_id": None,
        "verification_level": 0, "default_message_notifications": 0, "mfa_level": 0,
        "explicit_content_filter": 0,
        "max_presences": None, "max_members": 500000, "max_stage_video_channel_users": 50,
        "max_video_channel_users": 25, "vanity_url_code": None, "premium_tier": 0,
        "premium_subscription_count": 0,
        "preferred_locale": guild.locale, "rules_channel_id": None, "safety_alerts_channel_id": None,
        "public_updates_channel_id": None, "premium_progress_bar_enabled": False, "nsfw": False,
        "nsfw_level": 0,
        "emojis": [], "stickers": [], "incidents_data": None,
        "roles": [
            role_json(guild.id, "@everyone", Allow.PERSON, position=0, managed=False),
            role_json(guild.bot_role_id, "bot", guild.bot_permissions, position=1, managed=True)
            | {"tags": {"bot_id": str(bot_id)}},
        ],
    }  # fmt: skip


def channel_json(channel: Channel, bot: User) -> dict[str, Any]:
    last = str(channel.last_message_id) if channel.last_message_id else None
    body: dict[str, Any] = {"id": str(channel.id), "type": channel.type, "flags": 0, "last_message_id": last}
    if channel.recipient:
        return body | {"recipients": [user_json(channel.recipient)]}
    body |= {"guild_id": str(channel.guild_id), "name": channel.name, "rate_limit_per_user": 0}
    body["parent_id"] = str(channel.parent_id) if channel.parent_id else None
    if channel.thread:
        return body | thread_fields(channel, bot)
    denials = [{"id": str(bot.id), "type": 1, "allow": "0", "deny": str(channel.denied)}] if channel.denied else []
    return body | {
        "position": channel.position, "topic": channel.topic, "nsfw": False, "permission_overwrites": denials,
        "default_auto_archive_duration": 1440,
    }  # fmt: skip


def thread_fields(channel: Channel, bot: User) -> dict[str, Any]:
    thread = channel.thread
    assert thread is not None
    body: dict[str, Any] = {
        "owner_id": str(thread.owner_id),
        "message_count": sum(each.type != THREAD_STARTER for each in channel.messages.values()),
        "total_message_sent": thread.messages_sent,
        "member_count": len(thread.members),
        "thread_metadata": {
            "archived": thread.archived, "archive_timestamp": thread.archive_timestamp,
            "locked": thread.locked,
            "auto_archive_duration": thread.auto_archive_minutes, "create_timestamp": thread.create_timestamp,
        },
    }  # fmt: skip
    if bot.id in thread.members:
        body["member"] = thread_member_json(channel, bot.id)
    return body


def thread_member_json(channel: Channel, user_id: int) -> dict[str, Any]:
    assert channel.thread is not None
    joined = channel.thread.members[user_id]
    return {"id": str(channel.id), "user_id": str(user_id), "join_timestamp": joined, "flags": 0}


def attachment_json(attachment: Attachment, cdn: str, clock: Clock) -> dict[str, Any]:
    url = signed_url(attachment, cdn, clock.now())
    body: dict[str, Any] = {
        "id": str(attachment.id), "filename": attachment.filename, "size": attachment.size, "url": url,
        "proxy_url": url,
    }  # fmt: skip
    if attachment.content_type:
        body["content_type"] = attachment.content_type
    if attachment.description:
        body["description"] = attachment.description
    if attachment.ephemeral:
        body["ephemeral"] = True
    if attachment.data[:8] == b"\x89PNG\r\n\x1a\n" and len(attachment.data) >= 24:
        body["width"], body["height"] = struct.unpack(">II", attachment.data[16:24])
    return body


def signed_url(attachment: Attachment, cdn: str, now: float) -> str:
    expires, issued = int(now + ATTACHMENT_LIFE_S), int(now)
    path = f"/attachments/{attachment.channel_id}/{attachment.id}/{quote(attachment.filename)}"
    return f"{cdn}{path}?ex={expires:x}&is={issued:x}&hm={signature(attachment.id, expires, issued)}&"


def signature(attachment_id: int, expires: int, issued: int) -> str:
    return hashlib.sha256(f"loopback:{attachment_id}:{expires}:{issued}".encode()).hexdigest()


def emoji_json(key: str) -> dict[str, Any]:
    name, _, emoji_id = key.partition(":")
    return {"id": emoji_id or None, "name": name}


def reactions_json(message: Message, bot: User) -> list[dict[str, Any]]:
    return [
        {
            "emoji": emoji_json(key), "count": len(users),
            "count_details": {"burst": 0, "normal": len(users)},
            "burst_colors": [], "me_burst": False, "me": bot.id in users,
        }
        for key, users in message.reactions.items()
    ]  # fmt: skip


def message_json(message: Message, *, bot: User, cdn: str, clock: Clock) -> dict[str, Any]:
    """As in history: without nonce, guild, member, thread and referenced message, which their callers add."""
    body: dict[str, Any] = {
        "id": str(message.id), "channel_id": str(message.channel_id), "type": message.type,
        "content": message.content, "author": user_json(message.author),
        "attachments": [attachment_json(item, cdn, clock) for item in message.attachments],
        "embeds": [embed_json(embed) for embed in message.embeds], "components": message.components,
        "mentions": [user_json(user) for user in message.mentions],
        "mention_roles": re.findall(r"<@&(\d+)>", str(message.content)),
        "mention_everyone": message.mention_everyone, "pinned": False, "tts": message.tts,
        "flags": message.flags,
        "timestamp": clock.iso(message.created_at),
        "edited_timestamp": None if message.edited_at is None else clock.iso(message.edited_at),
    }  # fmt: skip
    if message.reactions:
        body["reactions"] = reactions_json(message, bot)
    if message.webhook_id:
        body["webhook_id"] = str(message.webhook_id)
    if message.application_id:
        body["application_id"] = str(message.application_id)
    if message.interaction_metadata:
        body["interaction_metadata"] = message.interaction_metadata
    return body


def embed_json(embed: dict[str, Any]) -> dict[str, Any]:
    body = {key: value for key, value in embed.items() if value is not None}
    body["type"] = "rich"
    if "fields" in body:
        body["fields"] = [{"inline": False, **field} for field in body["fields"]]
    return body


def webhook_json(webhook: Webhook, api: str) -> dict[str, Any]:
    return {
        "id": str(webhook.id), "type": 1, "name": webhook.name, "avatar": None, "token": webhook.token,
        "channel_id": str(webhook.channel_id), "guild_id": str(webhook.guild_id),
        "application_id": str(webhook.application_id), "user": user_json(webhook.creator),
        "url": f"{api}/webhooks/{webhook.id}/{webhook.token}",
    }  # fmt: skip
