"""A person with a Discord client in hand: says, edits, reacts, types commands, taps buttons. Acts;

never looks inside the bot.
"""

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import modals, posting, slash, threads, wire
from .asked import Asked
from .conversations import Conversation
from .model import Allow, Attachment, Channel, Interaction, Message, Upload, User, walk_components
from .routes_interactions import AUTOCOMPLETION, COMMAND, COMPONENT, SUBMISSION, metadata
from .world import DM_TYPING, GUILD_TYPING, Event

if TYPE_CHECKING:
    from .server import LoopbackDiscord

BUTTON, STRING_SELECT = 2, 3


class Person:
    def __init__(self, server: "LoopbackDiscord", user: User) -> None:
        self.server = server
        self.user = user

    def __repr__(self) -> str:
        return f"<Person {self.user.username} {self.id}>"

    @property
    def id(self) -> int:
        return self.user.id

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"

    @property
    def dm(self) -> Conversation:
        """The direct messages between this person and the bot."""
        return Conversation(self.server, self.server.world.open_dm(self.user))

    # messages

    def say(
        self,
        conversation: Conversation,
        text: str = "",
        *,
        files: Sequence[Upload] = (),
        reply_to: Message | None = None,
    ) -> Message:
        self._check_may_speak(conversation)
        body: dict[str, Any] = {"content": text, "nonce": str(self.server.world.snowflakes.next())}
        if reply_to:
            body["message_reference"] = {"channel_id": reply_to.channel_id, "message_id": reply_to.id}
        return posting.post(self.server.world, conversation.channel, self.user, body, files)

    def tell_bot(self, conversation: Conversation, text: str, **how: Any) -> Message:
        """`say` with a mention of the bot in front."""
        return self.say(conversation, f"<@{self.server.world.bot.id}> {text}", **how)

    def edit(self, message: Message, text: str) -> None:
        assert message.author is self.user, f"{self} did not write that message"
        posting.edit(self.server.world, message, {"content": text})

    def delete(self, message: Message) -> None:
        assert message.author is self.user, f"{self} did not write that message"
        posting.delete(self.server.world, message)

    def preview_appears(self, message: Message, url: str) -> None:
        """Discord adds a link's preview later: an update without new text and without an edit time."""
        message.embeds = [*message.embeds, {"type": "link", "url": url, "title": url}]
        self.server.world.publish_message("MESSAGE_UPDATE", message)

    def react(self, message: Message, emoji: str) -> None:
        posting.react(self.server.world, message, self.user, emoji)

    def unreact(self, message: Message, emoji: str) -> None:
        posting.unreact(self.server.world, message, self.user, emoji)

    def type(self, conversation: Conversation) -> None:
        now = int(self.server.clock.now())
        data = {"channel_id": str(conversation.id), "user_id": str(self.id), "timestamp": now}
        self.server.world.publish_in(conversation.channel, "TYPING_START", data, (GUILD_TYPING, DM_TYPING))

    def begin_thread(self, conversation: Conversation, name: str, *, message: Message | None = None) -> Conversation:
        thread = threads.begin(self.server.world, conversation.channel, self.user, name, message=message)
        return Conversation(self.server, thread)

    def _check_may_speak(self, conversation: Conversation) -> None:
        channel = conversation.channel
        assert not channel.deleted, f"{conversation} is deleted"
        assert channel.guild is None or self.id in channel.guild.members, f"{self} is not in that guild"
        locked = channel.thread is not None and channel.thread.locked
        assert not locked or self.user is self.server.world.application.owner, f"{conversation} is locked"

    # interactions

    def slash(self, conversation: Conversation, path: str, /, **typed: Any) -> Asked:
        """`person.slash(channel, "project create", name="api")`; people, conversations and uploads may be values."""
        command, chain = slash.offered(self.server.world.commands, conversation.channel, path)
        values = {name: self._value(conversation, value) for name, value in typed.items()}
        data = slash.interaction_data(command, chain, values)
        resolved = self._resolved(conversation.channel, list(values.values()))
        return self._ask(conversation.channel, COMMAND, data | ({"resolved": resolved} if resolved else {}))

    def autocomplete(
        self, conversation: Conversation, path: str, focused: str, typed: str = "", /, **others: Any
    ) -> Asked:
        """`typed` is what stands so far in the option `focused`."""
        command, chain = slash.offered(self.server.world.commands, conversation.channel, path)
        data = slash.interaction_data(command, chain, {**others, focused: typed}, focused=focused)
        return self._ask(conversation.channel, AUTOCOMPLETION, data)

    def click(self, message: Message, button: str) -> Asked:
        """`button` is a custom id or a label."""
        item = self._component(message, button, BUTTON)
        return self._touch(message, {"custom_id": item["custom_id"], "component_type": BUTTON, "id": item["id"]})

    def select(self, message: Message, custom_id: str, *values: str) -> Asked:
        item = self._component(message, custom_id, STRING_SELECT)
        offered = [option["value"] for option in item["options"]]
        assert set(values) <= set(offered), f"{values} are not all offered: {offered}"
        assert item["min_values"] <= len(values) <= item["max_values"], f"{len(values)} values are not allowed"
        data = {"custom_id": item["custom_id"], "component_type": STRING_SELECT, "id": item["id"]}
        return self._touch(message, data | {"values": list(values)})

    def submit_modal(self, asked: Asked, **typed: Any) -> Asked:
        """Answers the modal that `asked` was answered with;

        fields are named by their custom ids or labels.
        """
        before = asked.interaction
        assert before.callback_data is not None, f"{asked} was not answered with a modal"
        data = modals.submission(before.callback_data, typed)
        return self._ask(before.channel, SUBMISSION, data, before.source, triggering=metadata(before))

    def _component(self, message: Message, wanted: str, kind: int) -> dict[str, Any]:
        assert not message.deleted, "the message is deleted"
        assert message.reader_id in (None, self.id), f"{self} cannot see that ephemeral message"
        there = [item for item in walk_components(message.components) if item["type"] == kind]
        names = [(item.get("label"), item.get("custom_id")) for item in there]
        found = [item for item, name in zip(there, names, strict=True) if wanted in name]
        assert found, f"{wanted!r} is not on the message, which has {names}"
        assert not found[0].get("disabled"), f"{wanted!r} is disabled"
        return found[0]

    def _touch(self, message: Message, data: dict[str, Any]) -> Asked:
        return self._ask(self.server.world.channels[message.channel_id], COMPONENT, data, message)

    def _value(self, conversation: Conversation, value: Any) -> Any:
        """What the model knows for what the test has in hand."""
        if isinstance(value, Person):
            return value.user
        if isinstance(value, Conversation):
            return value.channel
        if isinstance(value, Upload):
            draft = Message(0, conversation.id, self.user, 0.0)
            return posting.keep(self.server.world, draft, value, {})
        return value

    def _resolved(self, channel: Channel, values: list[Any]) -> dict[str, Any]:
        world, resolved = self.server.world, dict[str, Any]()
        for value in values:
            if isinstance(value, Attachment):
                body = wire.attachment_json(value, world.cdn, world.clock)
                resolved.setdefault("attachments", {})[str(value.id)] = body
            elif isinstance(value, Channel):
                body = world.channel_body(value) | {"permissions": str(Allow.PERSON)}
                resolved.setdefault("channels", {})[str(value.id)] = body
            elif isinstance(value, User):
                resolved.setdefault("users", {})[str(value.id)] = wire.user_json(value)
                if channel.guild and value.id in channel.guild.members:
                    member = wire.member_json(channel.guild.members[value.id], channel.guild)
                    body = {k: v for k, v in member.items() if k not in ("user", "deaf", "mute")}
                    resolved.setdefault("members", {})[str(value.id)] = body | {"permissions": str(Allow.PERSON)}
        return resolved

    def _ask(
        self,
        channel: Channel,
        kind: int,
        data: dict[str, Any],
        source: Message | None = None,
        triggering: dict[str, Any] | None = None,
    ) -> Asked:
        world = self.server.world
        interaction = Interaction(
            world.snowflakes.next(), secrets.token_urlsafe(96), kind, channel, self.user,
            world.clock.now(), data,
            source, triggering,
        )  # fmt: skip
        world.interactions[interaction.id] = interaction
        world.publish(Event("INTERACTION_CREATE", self._payload(interaction)))
        return Asked(self.server, interaction)

    def _payload(self, interaction: Interaction) -> dict[str, Any]:
        world, channel = self.server.world, interaction.channel
        guild = channel.guild
        body: dict[str, Any] = {
            "id": str(interaction.id), "application_id": str(world.application.id), "type": interaction.type,
            "data": interaction.data, "token": interaction.token, "version": 1, "locale": self.user.locale,
            "channel_id": str(channel.id), "channel": world.channel_body(channel), "entitlements": [],
            "authorizing_integration_owners": {"0": str(guild.id if guild else 0)},
            "context": 0 if guild else 1,
            "attachment_size_limit": 10 * 1024 * 1024,
            "app_permissions": str(guild.bot_permissions & ~channel.denied if guild else Allow.BOT),
        }  # fmt: skip
        if interaction.source:
            body["message"] = world.message_body(interaction.source)
        if guild is None:
            return body | {"user": wire.user_json(self.user)}
        member = wire.member_json(guild.members[self.id], guild) | {"permissions": str(Allow.PERSON)}
        about = {"id": str(guild.id), "locale": guild.locale, "features": wire.features(guild)}
        return body | {
            "guild_id": str(guild.id),
            "guild": about,
            "guild_locale": guild.locale,
            "member": member,
        }
