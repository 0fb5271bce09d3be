"""What the loopback Discord remembers, as plain structs. No behaviour beyond lookups, no wire format."""

from typing import Any

import msgspec

TEXT, DM, PUBLIC_THREAD, PRIVATE_THREAD = 0, 1, 11, 12
EPHEMERAL, LOADING, HAS_THREAD, COMPONENTS_V2 = 1 << 6, 1 << 7, 1 << 5, 1 << 15
DEFAULT_MESSAGE, THREAD_CREATED, REPLY, CHAT_COMMAND, THREAD_STARTER = 0, 18, 19, 20, 21


class Allow:
    """Permission bits that the server checks."""

    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_HISTORY = 1 << 16
    MANAGE_WEBHOOKS = 1 << 29
    USE_COMMANDS = 1 << 31
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    SEND_IN_THREADS = 1 << 38

    PERSON = (
        ADD_REACTIONS | VIEW_CHANNEL | SEND_MESSAGES | EMBED_LINKS | ATTACH_FILES | READ_HISTORY
        | USE_COMMANDS | CREATE_PUBLIC_THREADS | SEND_IN_THREADS
    )  # fmt: skip
    BOT = PERSON | MANAGE_WEBHOOKS


class User(msgspec.Struct, eq=False):
    id: int
    username: str
    global_name: str | None = None
    bot: bool = False
    locale: str = "en-US"
    accepts_dms: bool = True


class Member(msgspec.Struct, eq=False):
    user: User
    joined_at: str
    nick: str | None = None


class Guild(msgspec.Struct, eq=False):
    id: int
    name: str
    owner_id: int
    locale: str = "en-US"
    bot_role_id: int = 0
    bot_permissions: int = Allow.BOT
    members: dict[int, Member] = {}


class ThreadState(msgspec.Struct, eq=False):
    owner_id: int
    archive_timestamp: str
    create_timestamp: str
    last_activity: float
    archived: bool = False
    locked: bool = False
    auto_archive_minutes: int = 1440
    members: dict[int, str] = {}
    messages_sent: int = 0


class Attachment(msgspec.Struct, eq=False):
    id: int
    channel_id: int
    filename: str
    data: bytes
    size: int
    content_type: str | None = None
    description: str | None = None
    ephemeral: bool = False


class Upload(msgspec.Struct):
    """A file as a person or the bot sends it; `claimed_size` lets a test lie about its length."""

    filename: str
    data: bytes
    content_type: str | None = None
    description: str | None = None
    claimed_size: int | None = None


class Message(msgspec.Struct, eq=False):
    id: int
    channel_id: int
    author: User
    created_at: float
    content: str = ""
    type: int = DEFAULT_MESSAGE
    embeds: list[dict[str, Any]] = []
    components: list[dict[str, Any]] = []
    attachments: list[Attachment] = []
    reactions: dict[str, list[int]] = {}
    mentions: list[User] = []
    mention_everyone: bool = False
    reference: tuple[int, int] | None = None
    nonce: str | int | None = None
    flags: int = 0
    tts: bool = False
    edited_at: float | None = None
    edits: int = 0
    webhook_id: int | None = None
    application_id: int | None = None
    interaction_metadata: dict[str, Any] | None = None
    allowed_mentions: dict[str, Any] | None = None
    deleted: bool = False
    reader_id: int | None = None

    @property
    def ephemeral(self) -> bool:
        return bool(self.flags & EPHEMERAL)

    @property
    def loading(self) -> bool:
        return bool(self.flags & LOADING)

    def custom_ids(self) -> list[str]:
        return [item["custom_id"] for item in walk_components(self.components) if "custom_id" in item]


class Channel(msgspec.Struct, eq=False):
    id: int
    type: int
    name: str = ""
    topic: str | None = None
    guild: Guild | None = None
    parent_id: int | None = None
    recipient: User | None = None
    thread: ThreadState | None = None
    messages: dict[int, Message] = {}
    last_message_id: int | None = None
    denied: int = 0
    position: int = 0
    deleted: bool = False

    @property
    def guild_id(self) -> int | None:
        return self.guild.id if self.guild else None

    def bot_may(self, bit: int) -> bool:
        return self.guild is None or bool(self.guild.bot_permissions & ~self.denied & bit)


class Webhook(msgspec.Struct, eq=False):
    id: int
    token: str
    channel_id: int
    guild_id: int
    name: str
    creator: User
    application_id: int


class Application(msgspec.Struct, eq=False):
    """Flags say which privileged intents the application may ask for (LIMITED: under 100 guilds)."""

    id: int
    name: str
    bot: User
    owner: User
    presence_intent: bool = False
    members_intent: bool = False
    message_content_intent: bool = True

    @property
    def flags(self) -> int:
        bits = ((self.presence_intent, 13), (self.members_intent, 15), (self.message_content_intent, 19))
        return sum(1 << bit for given, bit in bits if given)

    @property
    def forbidden_intents(self) -> int:
        bits = ((self.members_intent, 1), (self.presence_intent, 8), (self.message_content_intent, 15))
        return sum(1 << bit for given, bit in bits if not given)


class Interaction(msgspec.Struct, eq=False):
    """One slash command, click, autocomplete or modal, and what became of it."""

    id: int
    token: str
    type: int
    channel: Channel
    user: User
    created_at: float
    data: dict[str, Any]
    source: Message | None = None
    triggering: dict[str, Any] | None = None
    callback_type: int | None = None
    callback_at: float | None = None
    callback_data: dict[str, Any] | None = None
    original: Message | None = None
    followups: list[Message] = []
    original_edits: int = 0


def walk_components(components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every component at any depth, in reading order."""
    found: list[dict[str, Any]] = []
    for item in components:
        found.append(item)
        found += walk_components(item.get("components") or [])
        found += walk_components([item[key] for key in ("accessory", "component") if item.get(key)])
    return found
