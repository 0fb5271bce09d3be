"""Webhooks over REST, and the follow-ups of interactions, which Discord serves under the same addresses."""

import secrets

from . import errors, limits, posting, wire
from .model import EPHEMERAL, Allow, Channel, Interaction, Message, User, Webhook
from .routes_channels import CHANNEL, need
from .routing import Call, Reply, Routes

routes = Routes()
HOOK = "/webhooks/{webhook_id}/{webhook_token}"
TOKEN_LIFE_S = 900.0


@routes.on("POST", CHANNEL + "/webhooks")
async def create_webhook(call: Call) -> Reply:
    channel = call.world.channel(call.params["channel_id"])
    if channel.guild is None or channel.thread:
        raise errors.wrong_channel_type()
    need(channel, Allow.MANAGE_WEBHOOKS)
    name = call.body["name"]
    check_name("name", name)
    if sum(each.channel_id == channel.id for each in call.world.webhooks.values()) >= 15:
        raise errors.too_many_webhooks()
    hook = Webhook(
        call.world.snowflakes.next(), secrets.token_urlsafe(48), channel.id, channel.guild.id, name,
        call.world.bot, call.world.application.id,
    )  # fmt: skip
    call.world.webhooks[hook.id] = hook
    return Reply(200, wire.webhook_json(hook, call.server.api))


def check_name(field: str, name: str) -> None:
    if "discord" in name.lower() or "clyde" in name.lower():
        raise errors.invalid_form(field, "USERNAME_INVALID_CONTAINS", 'Username cannot contain "discord"')


@routes.on("GET", CHANNEL + "/webhooks")
async def list_webhooks(call: Call) -> Reply:
    channel = call.world.channel(call.params["channel_id"])
    need(channel, Allow.MANAGE_WEBHOOKS)
    found = [each for each in call.world.webhooks.values() if each.channel_id == channel.id]
    return Reply(200, [wire.webhook_json(each, call.server.api) for each in found])


@routes.on("DELETE", "/webhooks/{webhook_id}")
async def delete_webhook(call: Call) -> Reply:
    if call.world.webhooks.pop(int(call.params["webhook_id"]), None) is None:
        raise errors.unknown_webhook()
    return Reply()


@routes.on("GET", HOOK, needs_token=False)
async def webhook(call: Call) -> Reply:
    found = hook_of(call)
    if not isinstance(found, Webhook):
        raise errors.unknown_webhook()
    return Reply(200, {k: v for k, v in wire.webhook_json(found, call.server.api).items() if k != "user"})


def hook_of(call: Call) -> Webhook | Interaction:
    """A webhook by its token, or an answered interaction whose token is not fifteen minutes old."""
    hook_id, token = int(call.params["webhook_id"]), call.params["webhook_token"]
    if hook_id == call.world.application.id:
        found = next((each for each in call.world.interactions.values() if each.token == token), None)
        if found is None or found.callback_type is None:
            raise errors.unknown_webhook()
        if call.world.clock.now() - found.created_at > TOKEN_LIFE_S:
            raise errors.invalid_webhook_token()
        return found
    hook = call.world.webhooks.get(hook_id)
    if hook is None:
        raise errors.unknown_webhook()
    if not secrets.compare_digest(hook.token, token):
        raise errors.invalid_webhook_token()
    return hook


@routes.on("POST", HOOK, needs_token=False)
async def execute(call: Call) -> Reply:
    found = hook_of(call)
    limits.check_message(call.body, call.files, new=True)
    if isinstance(found, Interaction):
        return Reply(200, call.world.message_body(follow_up(call, found)))
    message = speak(call, found)
    return Reply(200, call.world.message_body(message)) if call.flag("wait") else Reply()


def speak(call: Call, hook: Webhook) -> Message:
    """Webhooks have no nonce, and post under the name the request gives."""
    channel = target(call, hook)
    if channel.thread and channel.thread.locked:
        raise errors.thread_locked()
    name = call.body.get("username") or hook.name
    check_name("username", name)
    author = User(hook.id, name, global_name=None, bot=True)
    body = {key: value for key, value in call.body.items() if key != "nonce"}
    return posting.post(
        call.world, channel, author, body, call.files, webhook_id=hook.id, application_id=hook.application_id
    )


def target(call: Call, hook: Webhook) -> Channel:
    thread_id = call.query.get("thread_id")
    if thread_id is None:
        return call.world.channel(hook.channel_id)
    thread = call.world.channel(thread_id)
    if thread.parent_id != hook.channel_id:
        raise errors.unknown_channel()
    return thread


def follow_up(call: Call, interaction: Interaction) -> Message:
    """The first one after a deferral fills the waiting message; later ones are new."""
    waiting = interaction.original
    if interaction.callback_type == 5 and waiting and waiting.loading:
        posting.edit(call.world, waiting, call.body, call.files)
        interaction.original_edits += 1
        call.world.board.changed()
        return waiting
    body = {key: value for key, value in call.body.items() if key != "nonce"}
    message = posting.post(
        call.world, interaction.channel, call.world.bot, body, call.files,
        webhook_id=call.world.application.id, application_id=call.world.application.id,
        reader_id=interaction.user.id if (body.get("flags") or 0) & EPHEMERAL else None,
    )  # fmt: skip
    interaction.followups.append(message)
    call.world.board.changed()
    return message


def message_of(call: Call) -> tuple[Message, Webhook | Interaction]:
    found = hook_of(call)
    wanted = call.params.get("message_id", "@original")
    if isinstance(found, Interaction):
        mine = [each for each in (found.original, *found.followups) if each and not each.deleted]
        message = found.original if wanted == "@original" else by_id(mine, wanted)
        if message is None or message.deleted:
            raise errors.unknown_message()
        return message, found
    message = target(call, found).messages.get(int(wanted)) if wanted.isdigit() else None
    if message is None or message.webhook_id != found.id:
        raise errors.unknown_message()
    return message, found


def by_id(messages: list[Message], wanted: str) -> Message | None:
    return next((each for each in messages if str(each.id) == wanted), None)


@routes.on("GET", HOOK + "/messages/@original", needs_token=False)
@routes.on("GET", HOOK + "/messages/{message_id}", needs_token=False)
async def get_message(call: Call) -> Reply:
    return Reply(200, call.world.message_body(message_of(call)[0]))


@routes.on("PATCH", HOOK + "/messages/@original", needs_token=False)
@routes.on("PATCH", HOOK + "/messages/{message_id}", needs_token=False)
async def edit_message(call: Call) -> Reply:
    message, owner = message_of(call)
    channel = call.world.channels[message.channel_id]
    if channel.thread and channel.thread.archived:
        raise errors.thread_archived()
    limits.check_message(call.body, call.files, new=False)
    posting.edit(call.world, message, call.body, call.files)
    if isinstance(owner, Interaction) and message is owner.original:
        owner.original_edits += 1
    call.world.board.changed()
    return Reply(200, call.world.message_body(message))


@routes.on("DELETE", HOOK + "/messages/@original", needs_token=False)
@routes.on("DELETE", HOOK + "/messages/{message_id}", needs_token=False)
async def delete_message(call: Call) -> Reply:
    posting.delete(call.world, message_of(call)[0])
    return Reply()
