"""The first answer to an interaction: within three seconds, and only once."""

from typing import Any

from . import errors, limits, posting, wire
from .model import CHAT_COMMAND, DEFAULT_MESSAGE, EPHEMERAL, LOADING, REPLY, Interaction, Message
from .routing import Call, Reply, Routes

routes = Routes()
MESSAGE, DEFER, DEFER_UPDATE, UPDATE, AUTOCOMPLETE, MODAL = 4, 5, 6, 7, 8, 9
COMMAND, COMPONENT, AUTOCOMPLETION, SUBMISSION = 2, 3, 4, 5
ANSWERS = {
    COMMAND: {MESSAGE, DEFER, MODAL},
    COMPONENT: {MESSAGE, DEFER, DEFER_UPDATE, UPDATE, MODAL},
    AUTOCOMPLETION: {AUTOCOMPLETE},
    SUBMISSION: {MESSAGE, DEFER, DEFER_UPDATE, UPDATE},
}


@routes.on("POST", "/interactions/{interaction_id}/{interaction_token}/callback", needs_token=False)
async def callback(call: Call) -> Reply:
    interaction = call.world.interactions.get(int(call.params["interaction_id"]))
    if interaction is None or interaction.token != call.params["interaction_token"]:
        raise errors.unknown_interaction()
    if interaction.callback_type is not None:
        raise errors.already_acknowledged()
    if call.world.clock.now() - interaction.created_at > call.world.acknowledge_within_sec:
        raise errors.unknown_interaction()
    kind, data = call.body["type"], call.body.get("data") or {}
    if kind not in ANSWERS[interaction.type]:
        raise errors.invalid_form("type", "INTERACTION_CALLBACK_TYPE_INVALID", "Not for this kind of interaction")
    answer(call, interaction, kind, data)
    interaction.callback_type, interaction.callback_data = kind, data
    interaction.callback_at = call.world.clock.now()
    call.world.board.changed()
    if not call.flag("with_response"):
        return Reply()
    return Reply(200, response_body(call, interaction))


def answer(call: Call, interaction: Interaction, kind: int, data: dict[str, Any]) -> None:
    match kind:
        case 4:
            limits.check_message(data, call.files, new=True)
            interaction.original = new_message(call, interaction, data)
        case 5:
            flags = (data.get("flags") or 0) & EPHEMERAL | LOADING
            interaction.original = new_message(call, interaction, {"flags": flags})
        case 6:
            interaction.original = interaction.source
        case 7:
            limits.check_message(data, call.files, new=False)
            interaction.original = interaction.source
            assert interaction.source is not None
            posting.edit(call.world, interaction.source, data, call.files)
        case 8:
            limits.check_choices(data["choices"])
        case _:
            limits.check_modal(data)


def new_message(call: Call, interaction: Interaction, data: dict[str, Any]) -> Message:
    application = call.world.application
    kinds = {COMMAND: CHAT_COMMAND, COMPONENT: REPLY}
    source = interaction.source
    return posting.post(
        call.world, interaction.channel, call.world.bot, data, call.files,
        type=kinds.get(interaction.type, DEFAULT_MESSAGE), webhook_id=application.id,
        application_id=application.id,
        reference=(source.channel_id, source.id) if source and not source.ephemeral else None,
        interaction_metadata=metadata(interaction),
        reader_id=interaction.user.id if (data.get("flags") or 0) & EPHEMERAL else None,
    )  # fmt: skip


def metadata(interaction: Interaction) -> dict[str, Any]:
    guild_id = interaction.channel.guild_id
    body: dict[str, Any] = {
        "id": str(interaction.id), "type": interaction.type, "user": wire.user_json(interaction.user),
        "authorizing_integration_owners": {"0": str(guild_id or 0)},
    }  # fmt: skip
    if interaction.type == COMPONENT and interaction.source:
        body["interacted_message_id"] = str(interaction.source.id)
    if interaction.type == SUBMISSION:
        body["triggering_interaction_metadata"] = interaction.triggering
    return body


def response_body(call: Call, interaction: Interaction) -> dict[str, Any]:
    about: dict[str, Any] = {"id": str(interaction.id), "type": interaction.type}
    about["channel_id"] = str(interaction.channel.id)
    if interaction.channel.guild:
        about["guild_id"] = str(interaction.channel.guild.id)
    body: dict[str, Any] = {"interaction": about}
    message = interaction.original
    if message and interaction.callback_type in (MESSAGE, DEFER, DEFER_UPDATE, UPDATE):
        about["response_message_id"] = str(message.id)
        about["response_message_loading"] = message.loading
        about["response_message_ephemeral"] = message.ephemeral
    if message and interaction.callback_type in (MESSAGE, UPDATE):
        body["resource"] = {"type": interaction.callback_type, "message": call.world.message_body(message)}
    return body
