"""Channels, threads, their members and typing over REST. What is said in them is in routes_messages."""

from typing import Any

from . import errors, limits, ratelimits, threads, wire
from .model import PUBLIC_THREAD, Allow, Channel
from .routing import Call, Reply, Routes
from .world import DM_TYPING, GUILD_TYPING

routes = Routes()
CHANNEL = "/channels/{channel_id}"


def need(channel: Channel, bit: int) -> None:
    if not channel.bot_may(bit):
        raise errors.missing_permissions()


@routes.on("GET", CHANNEL)
async def channel(call: Call) -> Reply:
    return Reply(200, call.world.channel_body(call.world.channel(call.params["channel_id"])))


@routes.on("PATCH", CHANNEL)
async def change_channel(call: Call) -> Reply:
    found = call.world.channel(call.params["channel_id"])
    if "name" in call.body and call.body["name"] != found.name:
        call.server.limits.admit_within(f"rename {found.id}", ratelimits.RENAME)
    if found.thread:
        change_thread(call, found)
    else:
        raise errors.missing_permissions()
    return Reply(200, call.world.channel_body(found))


def change_thread(call: Call, thread: Channel) -> None:
    """Own threads may be changed by their maker; locking, and unlocking, is for those who manage threads."""
    state, body = thread.thread, call.body
    assert state is not None
    limits.check_thread_change(body)
    manages = thread.bot_may(Allow.MANAGE_THREADS)
    if not manages and (state.owner_id != call.world.bot.id or "locked" in body):
        only_reopens = set(body) <= {"archived", "auto_archive_duration"} and not body.get("archived", True)
        if not only_reopens:
            raise errors.missing_permissions()
    if state.locked and not manages:
        raise errors.thread_locked()
    if state.archived and body.get("archived", True):
        raise errors.thread_archived()
    threads.change(call.world, thread, body)


@routes.on("DELETE", CHANNEL)
async def delete_channel(call: Call) -> Reply:
    found = call.world.channel(call.params["channel_id"])
    need(found, Allow.MANAGE_THREADS)
    body = call.world.channel_body(found)
    threads.remove(call.world, found)
    return Reply(200, body)


@routes.on("POST", CHANNEL + "/typing")
async def typing(call: Call) -> Reply:
    found = call.world.channel(call.params["channel_id"])
    data: dict[str, Any] = {"channel_id": str(found.id), "user_id": str(call.world.bot.id)}
    call.server.typings.append((call.world.clock.now(), found.id))
    data["timestamp"] = int(call.world.clock.now())
    call.world.publish_in(found, "TYPING_START", data, (GUILD_TYPING, DM_TYPING))
    call.world.board.changed()
    return Reply()


@routes.on("POST", CHANNEL + "/messages/{message_id}/threads")
async def thread_from_message(call: Call) -> Reply:
    parent = call.world.channel(call.params["channel_id"])
    message = call.world.message(parent, call.params["message_id"])
    thread = begin(call, parent, message=message)
    return Reply(201, call.world.channel_body(thread))


@routes.on("POST", CHANNEL + "/threads")
async def thread_alone(call: Call) -> Reply:
    parent = call.world.channel(call.params["channel_id"])
    thread = begin(call, parent, kind=call.body.get("type") or PUBLIC_THREAD)
    return Reply(201, call.world.channel_body(thread))


def begin(call: Call, parent: Channel, **how: Any) -> Channel:
    limits.check_thread_name(call.body.get("name"))
    need(parent, Allow.CREATE_PUBLIC_THREADS)
    minutes = call.body.get("auto_archive_duration") or 1440
    return threads.begin(call.world, parent, call.world.bot, call.body["name"], auto_archive_minutes=minutes, **how)


def thread_of(call: Call) -> Channel:
    found = call.world.channel(call.params["channel_id"])
    if found.thread is None:
        raise errors.wrong_channel_type()
    return found


@routes.on("GET", CHANNEL + "/thread-members")
async def thread_members(call: Call) -> Reply:
    found = thread_of(call)
    assert found.thread is not None
    return Reply(200, [wire.thread_member_json(found, user_id) for user_id in found.thread.members])


@routes.on("PUT", CHANNEL + "/thread-members/@me")
@routes.on("PUT", CHANNEL + "/thread-members/{user_id}")
async def join_thread(call: Call) -> Reply:
    found = thread_of(call)
    assert found.thread is not None
    if found.thread.archived:
        raise errors.thread_archived()
    user = call.world.user(call.params.get("user_id", call.world.bot.id))
    found.thread.members.setdefault(user.id, call.world.clock.iso())
    threads.announce(call.world, found)
    return Reply()


@routes.on("DELETE", CHANNEL + "/thread-members/@me")
async def leave_thread(call: Call) -> Reply:
    found = thread_of(call)
    assert found.thread is not None
    found.thread.members.pop(call.world.bot.id, None)
    threads.announce(call.world, found)
    return Reply()


@routes.on("GET", CHANNEL + "/threads/archived/public")
async def archived_threads(call: Call) -> Reply:
    parent = call.world.channel(call.params["channel_id"])
    assert parent.guild is not None
    gone = [each for each in call.world.threads_of(parent.guild) if each.parent_id == parent.id]
    gone = [each for each in gone if each.thread and each.thread.archived]
    gone.sort(key=lambda each: each.thread.archive_timestamp if each.thread else "", reverse=True)
    bodies = [call.world.channel_body(each) for each in gone]
    return Reply(200, {"threads": bodies, "members": [], "has_more": False})
