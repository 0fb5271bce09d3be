"""Messages and reactions as they come, change and go. Rights and limits are checked by the caller."""

import mimetypes
import re
from collections.abc import Sequence
from typing import Any

from . import errors, wire
from .components import stored
from .model import (
    DEFAULT_MESSAGE,
    EPHEMERAL,
    LOADING,
    REPLY,
    THREAD_STARTER,
    Attachment,
    Channel,
    Message,
    Upload,
    User,
)
from .threads import touch
from .world import DM_MESSAGES, DM_REACTIONS, GUILD_MESSAGES, GUILD_REACTIONS, World

MENTION = re.compile(r"<@!?(\d+)>")


def post(
    world: World,
    channel: Channel,
    author: User,
    body: dict[str, Any],
    files: Sequence[Upload] = (),
    **fields: Any,
) -> Message:
    """A new message, announced; `fields` set what only webhooks, interactions and the server itself may."""
    message = Message(world.snowflakes.next(), channel.id, author, world.clock.now())
    for name, value in fields.items():
        setattr(message, name, value)
    message.flags |= body.get("flags") or 0
    message.nonce = body.get("nonce")
    message.tts = bool(body.get("tts"))
    write(world, message, body, files)
    reference = body.get("message_reference")
    if reference:
        message.reference = (int(reference.get("channel_id") or channel.id), int(reference["message_id"]))
        message.type = REPLY if message.type == DEFAULT_MESSAGE else message.type
    message.mentions = mentioned(world, message)
    message.mention_everyone = pings_everyone(message)
    store(world, channel, message)
    return message


def store(world: World, channel: Channel, message: Message) -> None:
    if channel.thread and not message.ephemeral:
        touch(world, channel, message.author, counts=message.type != THREAD_STARTER)
    channel.messages[message.id] = message
    if not message.ephemeral:
        channel.last_message_id = message.id
    if message.nonce is not None:
        world.nonces[message.author.id, str(message.nonce)] = (world.clock.now(), message)
    world.publish_message("MESSAGE_CREATE", message, with_nonce=True)
    world.board.changed()


def edit(world: World, message: Message, body: dict[str, Any], files: Sequence[Upload] = ()) -> None:
    write(world, message, body, files)
    message.mentions = mentioned(world, message)
    message.edited_at = None if message.loading else world.clock.now()
    if message.loading:
        message.flags &= ~LOADING
    message.edits += 1
    world.publish_message("MESSAGE_UPDATE", message)
    world.board.changed()


def write(world: World, message: Message, body: dict[str, Any], files: Sequence[Upload]) -> None:
    """Puts the body's fields into the message; what the body does not name stays."""
    if "content" in body:
        message.content = (body["content"] or "").strip()
    if "embeds" in body:
        message.embeds = body["embeds"] or []
    if "components" in body:
        message.components = stored(body["components"] or [])
    if "allowed_mentions" in body:
        message.allowed_mentions = body["allowed_mentions"]
    if "attachments" in body or files:
        message.attachments = attached(world, message, body.get("attachments"), files)


def attached(
    world: World, message: Message, listed: list[dict[str, Any]] | None, files: Sequence[Upload]
) -> list[Attachment]:
    """Old attachments that are still listed, then the new files; a listing names new files by their index."""
    if listed is None:
        return message.attachments + [keep(world, message, file, {}) for file in files]
    kept = {each.id: each for each in message.attachments}
    result: list[Attachment] = []
    for entry in listed:
        entry_id = int(entry["id"])
        if entry_id in kept:
            result.append(kept[entry_id])
        elif entry_id < len(files):
            result.append(keep(world, message, files[entry_id], entry))
        else:
            raise errors.invalid_form("attachments", "ATTACHMENT_NOT_FOUND", f"Unknown attachment {entry_id}")
    return result


def keep(world: World, message: Message, file: Upload, entry: dict[str, Any]) -> Attachment:
    name = clean_name(entry.get("filename") or file.filename)
    guessed = file.content_type if file.content_type not in (None, "application/octet-stream") else None
    attachment = Attachment(
        id=world.snowflakes.next(),
        channel_id=message.channel_id,
        filename=name,
        data=file.data,
        size=len(file.data) if file.claimed_size is None else file.claimed_size,
        content_type=guessed or mimetypes.guess_type(name)[0],
        description=entry.get("description") or file.description,
        ephemeral=bool(message.flags & EPHEMERAL),
    )
    world.attachments[attachment.id] = attachment
    return attachment


def clean_name(name: str) -> str:
    """Discord keeps only harmless characters of a file's name."""
    return re.sub(r"[^\w.\-]", "_", name.rsplit("/", 1)[-1]) or "unknown"


def mentioned(world: World, message: Message) -> list[User]:
    rules = message.allowed_mentions
    found = [world.users[int(each)] for each in MENTION.findall(message.content) if int(each) in world.users]
    if rules is not None and "users" not in (rules.get("parse") or []):
        allowed = {int(each) for each in rules.get("users") or []}
        found = [user for user in found if user.id in allowed]
    if message.reference and message.type == REPLY and (rules is None or rules.get("replied_user")):
        quoted = world.channels[message.reference[0]].messages.get(message.reference[1])
        found += [quoted.author] if quoted else []
    return list(dict.fromkeys(found))


def pings_everyone(message: Message) -> bool:
    rules = message.allowed_mentions
    allowed = rules is None or "everyone" in (rules.get("parse") or [])
    return allowed and ("@everyone" in message.content or "@here" in message.content)


def delete(world: World, message: Message) -> None:
    channel = world.channels[message.channel_id]
    message.deleted = True
    del channel.messages[message.id]
    if not message.ephemeral:
        data = {"id": str(message.id), "channel_id": str(channel.id)}
        world.publish_in(channel, "MESSAGE_DELETE", data, (GUILD_MESSAGES, DM_MESSAGES))
    world.board.changed()


def react(world: World, message: Message, user: User, emoji: str) -> None:
    users = message.reactions.setdefault(emoji, [])
    if user.id in users:
        return
    users.append(user.id)
    _announce_reaction(world, "MESSAGE_REACTION_ADD", message, user, emoji)


def unreact(world: World, message: Message, user: User, emoji: str) -> None:
    users = message.reactions.get(emoji, [])
    if user.id not in users:
        return
    users.remove(user.id)
    if not users:
        del message.reactions[emoji]
    _announce_reaction(world, "MESSAGE_REACTION_REMOVE", message, user, emoji)


def _announce_reaction(world: World, name: str, message: Message, user: User, emoji: str) -> None:
    channel = world.channels[message.channel_id]
    data: dict[str, Any] = {
        "user_id": str(user.id), "channel_id": str(channel.id), "message_id": str(message.id),
        "emoji": wire.emoji_json(emoji), "burst": False, "type": 0,
    }  # fmt: skip
    if name.endswith("ADD"):
        data["message_author_id"] = str(message.author.id)
        member = channel.guild.members.get(user.id) if channel.guild else None
        if member and channel.guild:
            data["member"] = wire.member_json(member, channel.guild)
    world.publish_in(channel, name, data, (GUILD_REACTIONS, DM_REACTIONS))
    world.board.changed()
