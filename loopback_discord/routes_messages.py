"""Messages and reactions of the bot over REST. How they are kept is in posting."""

from . import errors, limits, posting, ratelimits, wire
from .model import Allow, Channel, Message
from .routes_channels import CHANNEL, need
from .routing import Call, Reply, Routes

routes = Routes()
MESSAGES = CHANNEL + "/messages"
MESSAGE = MESSAGES + "/{message_id}"
REACTION = MESSAGE + "/reactions/{emoji_name}"
HOUR_S = 3600


def readable(call: Call, message: Message) -> dict[str, object]:
    """Over REST, too, an application without the content intent sees only what is its own or for it."""
    body, world = call.world.message_body(message), call.world
    channel = world.channels[message.channel_id]
    if world.application.message_content_intent or channel.guild is None:
        return body
    if message.author is world.bot or world.bot in message.mentions:
        return body
    return body | {"content": "", "embeds": [], "attachments": [], "components": []}


def may_send(call: Call, channel: Channel) -> None:
    if channel.recipient and not channel.recipient.accepts_dms:
        raise errors.cannot_message_user()
    need(channel, Allow.SEND_IN_THREADS if channel.thread else Allow.SEND_MESSAGES)
    if channel.thread and channel.thread.locked and not channel.bot_may(Allow.MANAGE_THREADS):
        raise errors.thread_locked()
    if call.files:
        need(channel, Allow.ATTACH_FILES)


def not_archived(channel: Channel) -> None:
    if channel.thread and channel.thread.archived:
        raise errors.thread_archived()


@routes.on("GET", MESSAGES)
async def history(call: Call) -> Reply:
    channel = call.world.channel(call.params["channel_id"])
    if not channel.bot_may(Allow.READ_HISTORY):
        return Reply(200, [])
    limit = call.whole("limit", 50, 1, 100)
    newest_first = sorted((each for each in channel.messages.values() if not each.ephemeral), key=lambda each: -each.id)
    return Reply(200, [readable(call, each) for each in page(newest_first, call, limit)])


def page(newest_first: list[Message], call: Call, limit: int) -> list[Message]:
    """`after` gives the oldest ones after it, still newest first, as Discord does."""
    if "around" in call.query:
        middle = int(call.query["around"])
        older = [each for each in newest_first if each.id <= middle][: limit // 2 + 1]
        newer = [each for each in newest_first if each.id > middle][-(limit // 2) :]
        return (newer + older)[:limit] if limit > 1 else older[:1]
    if "after" in call.query:
        return [each for each in newest_first if each.id > int(call.query["after"])][-limit:]
    before = int(call.query.get("before", 1 << 63))
    return [each for each in newest_first if each.id < before][:limit]


@routes.on("GET", MESSAGE)
async def message(call: Call) -> Reply:
    channel = call.world.channel(call.params["channel_id"])
    need(channel, Allow.READ_HISTORY)
    return Reply(200, readable(call, call.world.message(channel, call.params["message_id"])))


@routes.on("POST", MESSAGES)
async def create_message(call: Call) -> Reply:
    channel = call.world.channel(call.params["channel_id"])
    may_send(call, channel)
    limits.check_message(call.body, call.files, new=True)
    known = call.world.remembered(call.world.bot, call.body.get("nonce"))
    if known and call.body.get("enforce_nonce"):
        return Reply(200, call.world.message_body(known, with_nonce=True))
    check_reference(call, channel)
    posted = posting.post(call.world, channel, call.world.bot, call.body, call.files)
    return Reply(200, call.world.message_body(posted, with_nonce=True))


def check_reference(call: Call, channel: Channel) -> None:
    """A reply to a message that is gone is refused, unless the bot asked to send it plain then."""
    reference = call.body.get("message_reference")
    if not reference:
        return
    known = int(reference["message_id"]) in channel.messages
    if not known and reference.get("fail_if_not_exists", True):
        raise errors.invalid_form("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
    if not known:
        del call.body["message_reference"]


@routes.on("PATCH", MESSAGE)
async def edit_message(call: Call) -> Reply:
    channel = call.world.channel(call.params["channel_id"])
    found = call.world.message(channel, call.params["message_id"])
    if found.author is not call.world.bot:
        raise errors.not_your_message()
    not_archived(channel)
    limits.check_message(call.body, call.files, new=False)
    if call.world.clock.now() - found.created_at > HOUR_S:
        call.server.limits.admit_within(f"edit old {channel.id}", ratelimits.EDIT_OLD_MESSAGE, code=30046)
    posting.edit(call.world, found, call.body, call.files)
    return Reply(200, call.world.message_body(found))


@routes.on("DELETE", MESSAGE)
async def delete_message(call: Call) -> Reply:
    channel = call.world.channel(call.params["channel_id"])
    found = call.world.message(channel, call.params["message_id"])
    if found.author is not call.world.bot:
        need(channel, Allow.MANAGE_MESSAGES)
    not_archived(channel)
    posting.delete(call.world, found)
    return Reply()


@routes.on("PUT", REACTION + "/@me")
async def add_reaction(call: Call) -> Reply:
    channel = call.world.channel(call.params["channel_id"])
    found = call.world.message(channel, call.params["message_id"])
    need(channel, Allow.ADD_REACTIONS)
    not_archived(channel)
    emoji = known_emoji(call)
    if emoji not in found.reactions and len(found.reactions) >= 20:
        raise errors.Refusal(400, 30010, "Maximum number of reactions reached (20)")
    posting.react(call.world, found, call.world.bot, emoji)
    return Reply()


@routes.on("DELETE", REACTION + "/@me")
@routes.on("DELETE", REACTION + "/{user_id}")
async def remove_reaction(call: Call) -> Reply:
    channel = call.world.channel(call.params["channel_id"])
    found = call.world.message(channel, call.params["message_id"])
    not_archived(channel)
    user = call.world.user(call.params.get("user_id", call.world.bot.id))
    if user is not call.world.bot:
        need(channel, Allow.MANAGE_MESSAGES)
    posting.unreact(call.world, found, user, known_emoji(call))
    return Reply()


@routes.on("GET", REACTION)
async def reactions(call: Call) -> Reply:
    channel = call.world.channel(call.params["channel_id"])
    found = call.world.message(channel, call.params["message_id"])
    users = found.reactions.get(known_emoji(call), [])
    return Reply(200, [wire.user_json(call.world.users[user_id]) for user_id in users])


def known_emoji(call: Call) -> str:
    """A Unicode emoji, or name:id of a custom one."""
    emoji = call.params["emoji_name"]
    name, colon, emoji_id = emoji.partition(":")
    if (colon and not emoji_id.isdigit()) or (not colon and (not name or name.isascii())):
        raise errors.unknown_emoji()
    return emoji
