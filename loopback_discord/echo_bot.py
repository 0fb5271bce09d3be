"""A bot for a process of its own: echoes what it hears.

Run with API base, gateway address, token and compression.
"""

import sys

API, GATEWAY, TOKEN, COMPRESSION = sys.argv[1:5]
if COMPRESSION == "zlib-stream":  # discord.py falls back to zlib only where zstd cannot be imported
    sys.modules["zstandard"] = sys.modules["compression.zstd"] = None  # type: ignore[assignment]

import discord  # noqa: E402
import discord.http  # noqa: E402
import yarl  # noqa: E402
from discord.gateway import DiscordWebSocket  # noqa: E402

discord.http.Route.BASE = API
DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(GATEWAY)
intents = discord.Intents(guilds=True, guild_messages=True, message_content=True)
client = discord.Client(intents=intents)


@client.event
async def on_message(message: discord.Message) -> None:
    if not message.author.bot:
        await message.channel.send(f"heard: {message.content}")


client.run(TOKEN, log_handler=None)
