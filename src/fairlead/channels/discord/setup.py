"""What `fairlead init` and `fairlead doctor` ask of Discord: is the token good, whose is it, what is missing. By REST
alone: looking costs no IDENTIFY, and nothing is changed."""

from typing import Any, Final
from urllib.parse import urlencode

import aiohttp
import discord
import msgspec

from fairlead.channels.discord.gateway.client import point_at
from fairlead.errors import Code, error

APPLICATIONS: Final = "https://discord.com/developers/applications"
_MOST_GUILDS: Final = 200
_AUTHORIZE: Final = "https://discord.com/oauth2/authorize"

_NEEDED: Final = discord.Permissions(
    view_channel=True,
    send_messages=True,
    read_message_history=True,
    create_public_threads=True,
    send_messages_in_threads=True,
    manage_threads=True,
    use_application_commands=True,
    embed_links=True,
    attach_files=True,
    add_reactions=True,
)


class GuildReport(msgspec.Struct, frozen=True):
    guild_id: str
    name: str
    missing: tuple[str, ...] = ()


class ApplicationSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The application that a token belongs to, as Discord describes it."""

    application_id: str
    bot_id: str
    bot_name: str
    owner_id: str
    owner_name: str
    has_message_content: bool
    guilds: tuple[GuildReport, ...]


class Finding(msgspec.Struct, frozen=True):
    """One line of `fairlead doctor`."""

    ok: bool
    text: str
    next_step: str = ""


def needed_permissions(*, webhook_identity: bool = False) -> discord.Permissions:
    needed = discord.Permissions(_NEEDED.value)
    if webhook_identity:
        needed.update(manage_webhooks=True)
    return needed


def invite_link(application_id: str, *, webhook_identity: bool = False, guild_id: str = "") -> str:
    """The link that brings the bot into a server with exactly what it needs."""
    wanted = {
        "client_id": application_id,
        "scope": "bot applications.commands",
        "permissions": str(needed_permissions(webhook_identity=webhook_identity).value),
    }
    if guild_id:
        wanted["guild_id"] = guild_id
    return f"{_AUTHORIZE}?{urlencode(wanted)}"


async def look(token: str, *, api_base: str = "", webhook_identity: bool = False) -> ApplicationSeen:
    """Everything that can be learnt with a token. Raises E_CONFIG if Discord refuses it or cannot be reached."""
    point_at(api_base, "")
    client = discord.Client(intents=discord.Intents.none())
    try:
        await client.login(token)
        application = await client.application_info()
        needed = needed_permissions(webhook_identity=webhook_identity)
        listed: Any = await client.http.get_guilds(_MOST_GUILDS, with_counts=False)
        guilds = [_report_guild(guild, needed) for guild in listed]
        return _report_application(client, application, tuple(guilds))
    except discord.LoginFailure:
        raise error(
            Code.E_CONFIG,
            "Discord refuses this token.",
            next_step=f"Reset and copy it again at {APPLICATIONS}, under Bot, Reset Token.",
        ) from None
    except (discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError) as fault:
        raise error(
            Code.E_CONFIG, f"Discord cannot be reached: {fault}", next_step="Check the network, then try again."
        ) from fault
    finally:
        await client.close()


def _report_guild(guild: dict[str, Any], needed: discord.Permissions) -> GuildReport:
    given = discord.Permissions(int(guild.get("permissions") or 0))
    missing = [] if given.administrator else [name for name, wanted in needed if wanted and not getattr(given, name)]
    return GuildReport(str(guild["id"]), str(guild["name"]), tuple(missing))


def _report_application(
    client: discord.Client, application: discord.AppInfo, guilds: tuple[GuildReport, ...]
) -> ApplicationSeen:
    assert client.user is not None, "a client that is logged in has a user"
    owner = application.owner
    owner_id = application.team.owner_id if application.team is not None else owner.id
    flags = application.flags
    return ApplicationSeen(
        application_id=str(application.id),
        bot_id=str(client.user.id),
        bot_name=client.user.name,
        owner_id=str(owner_id or owner.id),
        owner_name=owner.name,
        has_message_content=flags.gateway_message_content or flags.gateway_message_content_limited,
        guilds=guilds,
    )


def findings(
    seen: ApplicationSeen,
    *,
    owner_id: str,
    guild_id: str = "",
    application_id: str = "",
    webhook_identity: bool = False,
) -> list[Finding]:
    """Each check with its outcome, and the next step where it failed."""
    link = invite_link(seen.application_id, webhook_identity=webhook_identity, guild_id=guild_id)
    found = [Finding(ok=True, text=f"The token belongs to {seen.bot_name} (application {seen.application_id}).")]
    if application_id not in {"", seen.application_id}:
        told = f"DISCORD_APP_ID is {application_id}, but the token belongs to application {seen.application_id}."
        found.append(Finding(ok=False, text=told, next_step="Remove DISCORD_APP_ID: Fairlead finds it by the token."))
    found.append(_intent(seen))
    if owner_id and owner_id != seen.owner_id:
        note = f"DISCORD_OWNER_ID is {owner_id}; the application belongs to {seen.owner_name} ({seen.owner_id})."
        found.append(Finding(ok=True, text=note))
    wanted = [g for g in seen.guilds if guild_id in {"", g.guild_id}]
    if not wanted:
        where = f"server {guild_id}" if guild_id else "any server"
        found.append(Finding(ok=False, text=f"The bot is not in {where}.", next_step=f"Invite it: {link}"))
    for guild in wanted:
        missing = ", ".join(guild.missing)
        found.append(
            Finding(
                ok=not missing,
                text=f"In {guild.name} ({guild.guild_id}) "
                + (f"it lacks permissions: {missing}." if missing else "it has all permissions that it needs."),
                next_step=f"Invite it again: {link}" if missing else "",
            )
        )
    return found


def _intent(seen: ApplicationSeen) -> Finding:
    if seen.has_message_content:
        return Finding(ok=True, text="The intent MESSAGE CONTENT is on.")
    return Finding(
        ok=False,
        text="The intent MESSAGE CONTENT is off, so the bot cannot read messages.",
        next_step=f"Turn it on at {APPLICATIONS}/{seen.application_id}/bot, under Privileged Gateway Intents.",
    )
