"""Threads: begun, archived, locked, woken by a message, deleted. Rights are checked by the caller."""

from typing import Any

from . import errors
from .model import (
    HAS_THREAD,
    PUBLIC_THREAD,
    TEXT,
    THREAD_CREATED,
    THREAD_STARTER,
    Channel,
    Message,
    ThreadState,
    User,
)
from .world import GUILDS, Event, World


def begin(
    world: World,
    parent: Channel,
    owner: User,
    name: str,
    *,
    message: Message | None = None,
    kind: int = PUBLIC_THREAD,
    auto_archive_minutes: int = 1440,
) -> Channel:
    """From a message the thread has the message's id;

    otherwise the parent gets a notice with the thread's id.
    """
    if parent.type != TEXT:
        raise errors.wrong_channel_type()
    if message is not None and message.id in world.channels:
        raise errors.thread_exists()
    thread_id = message.id if message else world.snowflakes.next()
    now = world.clock.iso()
    state = ThreadState(owner.id, now, now, world.clock.now(), auto_archive_minutes=auto_archive_minutes)
    state.members[owner.id] = now
    thread = Channel(thread_id, kind, name, guild=parent.guild, parent_id=parent.id, thread=state)
    world.channels[thread_id] = thread
    world.publish(Event("THREAD_CREATE", world.channel_body(thread) | {"newly_created": True}, GUILDS))
    if message is None:
        _notice(world, parent, owner, thread, message_id=thread_id)
    else:
        message.flags |= HAS_THREAD
        world.publish_message("MESSAGE_UPDATE", message)
        _starter(world, thread, owner, message)
    world.board.changed()
    return thread


def _notice(world: World, parent: Channel, owner: User, thread: Channel, *, message_id: int) -> None:
    notice = Message(message_id, parent.id, owner, world.clock.now(), content=thread.name, type=THREAD_CREATED)
    parent.messages[notice.id] = notice
    parent.last_message_id = notice.id
    world.publish_message("MESSAGE_CREATE", notice)


def _starter(world: World, thread: Channel, owner: User, message: Message) -> None:
    starter = Message(world.snowflakes.next(), thread.id, owner, world.clock.now(), type=THREAD_STARTER)
    starter.reference = (message.channel_id, message.id)
    thread.messages[starter.id] = starter
    thread.last_message_id = starter.id
    world.publish_message("MESSAGE_CREATE", starter)


def touch(world: World, thread: Channel, author: User, *, counts: bool) -> None:
    """A message makes its author a member, counts as activity, and reopens an archived thread."""
    state = thread.thread
    assert state is not None
    state.members.setdefault(author.id, world.clock.iso())
    state.messages_sent += counts
    state.last_activity = world.clock.now()
    if state.archived:
        change(world, thread, {"archived": False})


def change(world: World, thread: Channel, wanted: dict[str, Any]) -> None:
    state = thread.thread
    assert state is not None
    thread.name = wanted.get("name", thread.name)
    state.locked = wanted.get("locked", state.locked)
    state.auto_archive_minutes = wanted.get("auto_archive_duration", state.auto_archive_minutes)
    if wanted.get("archived", state.archived) != state.archived:
        state.archived = wanted["archived"]
        state.archive_timestamp = world.clock.iso()
        state.last_activity = world.clock.now()
    announce(world, thread)


def announce(world: World, thread: Channel) -> None:
    if world.visible(thread):
        world.publish(Event("THREAD_UPDATE", world.channel_body(thread), GUILDS))
    world.board.changed()


def remove(world: World, channel: Channel) -> None:
    """Deletes a thread, or a channel with its threads."""
    for thread in [each for each in world.channels.values() if each.parent_id == channel.id]:
        remove(world, thread)
    channel.deleted = True
    del world.channels[channel.id]
    if channel.thread:
        data = {"id": str(channel.id), "guild_id": str(channel.guild_id), "type": channel.type}
        world.publish(Event("THREAD_DELETE", data | {"parent_id": str(channel.parent_id)}, GUILDS))
    elif channel.guild:
        world.publish(Event("CHANNEL_DELETE", world.channel_body(channel), GUILDS))
    world.board.changed()


def archive_the_idle(world: World) -> None:
    """Run whenever the clock is moved."""
    now = world.clock.now()
    for channel in list(world.channels.values()):
        state = channel.thread
        if state and not state.archived and now - state.last_activity >= state.auto_archive_minutes * 60:
            change(world, channel, {"archived": True})
