"""Slash commands as Discord knows them: registered in one scope, in every language, and only when they changed."""

import hashlib
from pathlib import Path
from typing import Any, Final

import discord
import msgspec
from discord import app_commands
from discord.app_commands import TranslationContextTypes, locale_str

from fairlead.channels.discord.outbound.rest import RestCalls
from fairlead.channels.push.rate_limit import Urgency
from fairlead.kit.files import read_regular, replace_durably
from fairlead.observe import log
from fairlead.render.words import ENGLISH, say

REGISTERED_FILE: Final = "discord-commands.json"
_LANGUAGES: Final = {
    discord.Locale.japanese: "ja",
    discord.Locale.taiwan_chinese: "zh-TW",
    discord.Locale.chinese: "zh-CN",
}


class DescriptionTranslator(app_commands.Translator):
    """Descriptions by their keys. Names stay as they are: people tell each other what to type."""

    async def translate(
        self,
        string: locale_str,
        locale: discord.Locale,
        context: TranslationContextTypes,  # noqa: ARG002 - theirs
    ) -> str | None:
        key = f"command.{string.extras.get('key', '')}"
        lang = _LANGUAGES.get(locale)
        return say(lang, key) if lang is not None and key in ENGLISH else None


class RegisteredCommands(msgspec.Struct, frozen=True):
    application_id: str
    scope: str
    digest: str


class Registration:
    def __init__(self, rest: RestCalls, state_dir: Path, guild_id: str) -> None:
        self._rest = rest
        self._file = state_dir / REGISTERED_FILE
        self._guild_id = guild_id

    async def bring_up_to_date(self, client: discord.Client, tree: app_commands.CommandTree[Any]) -> None:
        """One scope clears the other: with both, every command would be offered twice."""
        translator = DescriptionTranslator()
        payload = [await command.get_translated_payload(tree, translator) for command in tree.get_commands()]
        wanted = RegisteredCommands(str(client.application_id), self._guild_id or "global", _digest(payload))
        if self._read_registered() == wanted:
            return
        application_id = client.application_id or 0
        everywhere, here = ([], payload) if self._guild_id else (payload, [])
        guilds = [int(self._guild_id)] if self._guild_id else self._guilds_to_clear(client)
        await self._rest.until_done(
            Urgency.ANSWER, lambda c: c.http.bulk_upsert_global_commands(application_id, everywhere)
        )
        for guild_id in guilds:
            await self._rest.until_done(
                Urgency.ANSWER, lambda c, g=guild_id: c.http.bulk_upsert_guild_commands(application_id, g, here)
            )
        replace_durably(self._file, msgspec.json.encode(wanted))
        log.info("commands registered", scope=wanted.scope, commands=len(payload))

    def _guilds_to_clear(self, client: discord.Client) -> list[int]:
        known = self._read_registered()
        was_guild = known is not None and known.application_id == str(client.application_id)
        return [int(known.scope)] if known is not None and was_guild and known.scope.isdecimal() else []

    def _read_registered(self) -> RegisteredCommands | None:
        try:
            return msgspec.json.decode(read_regular(self._file), type=RegisteredCommands)
        except (OSError, msgspec.DecodeError):
            return None  # registering once more does no harm


def _digest(payload: list[dict[str, Any]]) -> str:
    return hashlib.blake2b(msgspec.json.encode(payload, order="sorted"), digest_size=16).hexdigest()
