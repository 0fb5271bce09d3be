"""Users, application, guilds, gateway addresses and commands over REST.

Messages and channels are elsewhere.
"""

from typing import Any

from . import errors, limits, wire
from .model import Guild
from .routing import Call, Reply, Routes

routes = Routes()
COMMANDS = "/applications/{application_id}/commands"
GUILD_COMMANDS = "/applications/{application_id}/guilds/{guild_id}/commands"
DAILY_IDENTIFIES = 1000


@routes.on("GET", "/gateway", needs_token=False)
async def gateway(call: Call) -> Reply:
    return Reply(200, {"url": call.server.gateway.url})


@routes.on("GET", "/gateway/bot")
async def gateway_bot(call: Call) -> Reply:
    used = sum(call.world.clock.now() - each.at < 86400 for each in call.server.gateway.identifies)
    limit = {"total": DAILY_IDENTIFIES, "remaining": max(DAILY_IDENTIFIES - used, 0), "reset_after": 86400000}
    body = {
        "url": call.server.gateway.url,
        "shards": 1,
        "session_start_limit": limit | {"max_concurrency": 1},
    }
    return Reply(200, body)


@routes.on("GET", "/oauth2/applications/@me")
@routes.on("GET", "/applications/@me")
async def my_application(call: Call) -> Reply:
    return Reply(200, wire.application_json(call.world.application, len(call.world.guilds)))


@routes.on("GET", "/users/@me")
async def me(call: Call) -> Reply:
    return Reply(200, wire.own_user_json(call.world.bot))


@routes.on("GET", "/users/@me/guilds")
async def my_guilds(call: Call) -> Reply:
    after, before = int(call.query.get("after", 0)), int(call.query.get("before", 1 << 63))
    found = [guild for guild in call.world.guilds.values() if after < guild.id < before]
    return Reply(200, [my_guild_json(guild) for guild in found[: call.whole("limit", 200, 1, 200)]])


def my_guild_json(guild: Guild) -> dict[str, Any]:
    return {
        "id": str(guild.id), "name": guild.name, "icon": None, "banner": None, "owner": False,
        "permissions": str(guild.bot_permissions), "features": wire.features(guild),
        "approximate_member_count": len(guild.members), "approximate_presence_count": 1,
    }  # fmt: skip


@routes.on("POST", "/users/@me/channels")
async def open_dm(call: Call) -> Reply:
    user = call.world.user(call.body["recipient_id"])
    if user.bot:
        raise errors.cannot_message_user()
    return Reply(200, call.world.channel_body(call.world.open_dm(user)))


@routes.on("GET", "/users/{user_id}")
async def user(call: Call) -> Reply:
    return Reply(200, wire.user_json(call.world.user(call.params["user_id"])))


@routes.on("GET", "/guilds/{guild_id}")
async def guild(call: Call) -> Reply:
    found = call.world.guild(call.params["guild_id"])
    counts = {"approximate_member_count": len(found.members), "approximate_presence_count": 1}
    return Reply(200, wire.guild_json(found) | counts)


@routes.on("GET", "/guilds/{guild_id}/channels")
async def guild_channels(call: Call) -> Reply:
    found = call.world.guild(call.params["guild_id"])
    plain = [each for each in call.world.channels.values() if each.guild is found and not each.thread]
    return Reply(200, [call.world.channel_body(each) for each in plain])


@routes.on("GET", "/guilds/{guild_id}/members/{user_id}")
async def guild_member(call: Call) -> Reply:
    found = call.world.guild(call.params["guild_id"])
    member = found.members.get(int(call.params["user_id"]))
    if member is None:
        raise errors.unknown_member()
    return Reply(200, wire.member_json(member, found))


@routes.on("GET", "/guilds/{guild_id}/threads/active")
async def active_threads(call: Call) -> Reply:
    found = call.world.guild(call.params["guild_id"])
    seen = [each for each in call.world.active_threads(found) if call.world.visible(each)]
    mine = [each for each in seen if each.thread and call.world.bot.id in each.thread.members]
    members = [wire.thread_member_json(each, call.world.bot.id) for each in mine]
    bodies = [call.world.channel_body(each) for each in seen]
    return Reply(200, {"threads": bodies, "members": members, "has_more": False})


# commands


def scope_of(call: Call) -> int | None:
    if int(call.params["application_id"]) != call.world.application.id:
        raise errors.Refusal(403, 20012, "You are not authorized to perform this action on this application")
    guild_id = call.params.get("guild_id")
    return call.world.guild(guild_id).id if guild_id else None


@routes.on("GET", COMMANDS)
@routes.on("GET", GUILD_COMMANDS)
async def list_commands(call: Call) -> Reply:
    found = call.world.commands.get(scope_of(call), [])
    if call.flag("with_localizations"):
        return Reply(200, found)
    return Reply(200, [without_localizations(command) for command in found])


def without_localizations(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: without_localizations(value) for key, value in node.items() if not key.endswith("_localizations")}
    return [without_localizations(item) for item in node] if isinstance(node, list) else node


@routes.on("PUT", COMMANDS)
@routes.on("PUT", GUILD_COMMANDS)
async def set_commands(call: Call) -> Reply:
    scope = scope_of(call)
    limits.check_commands(call.body)
    old = {(each["type"], each["name"]): each for each in call.world.commands.get(scope, [])}
    new = [registered(call, command, scope, old) for command in call.body]
    call.world.commands[scope] = new
    call.world.board.changed()
    return Reply(200, new)


@routes.on("POST", COMMANDS)
@routes.on("POST", GUILD_COMMANDS)
async def add_command(call: Call) -> Reply:
    scope = scope_of(call)
    limits.check_commands([call.body])
    old = {(each["type"], each["name"]): each for each in call.world.commands.get(scope, [])}
    existed = (call.body.get("type") or 1, call.body["name"]) in old
    command = registered(call, call.body, scope, old)
    others = [each for each in call.world.commands.get(scope, []) if each["id"] != command["id"]]
    call.world.commands[scope] = [*others, command]
    call.world.board.changed()
    return Reply(200 if existed else 201, command)


@routes.on("DELETE", COMMANDS + "/{command_id}")
@routes.on("DELETE", GUILD_COMMANDS + "/{command_id}")
async def remove_command(call: Call) -> Reply:
    scope = scope_of(call)
    kept = [each for each in call.world.commands.get(scope, []) if each["id"] != call.params["command_id"]]
    if len(kept) == len(call.world.commands.get(scope, [])):
        raise errors.unknown_command()
    call.world.commands[scope] = kept
    call.world.board.changed()
    return Reply()


def registered(
    call: Call, command: dict[str, Any], scope: int | None, old: dict[tuple[int, str], dict[str, Any]]
) -> dict[str, Any]:
    """A command keeps its id as long as its name and type stay; its version is new each time."""
    kind = command.get("type") or 1
    before = old.get((kind, command["name"]))
    permissions = command.get("default_member_permissions")
    body = {key: value for key, value in command.items() if value is not None} | {
        "id": before["id"] if before else str(call.world.snowflakes.next()),
        "application_id": str(call.world.application.id),
        "version": str(call.world.snowflakes.next()), "type": kind,
        "default_member_permissions": None if permissions is None else str(permissions),
        "description": command.get("description") or "", "nsfw": bool(command.get("nsfw")),
    }  # fmt: skip
    if scope is not None:
        return body | {"guild_id": str(scope)}
    return {"dm_permission": True, "contexts": None, "integration_types": [0], **body}
