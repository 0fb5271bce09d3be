"""Discord, on discord.py: the only room that knows it."""

from fairlead.channels.discord.channel import DiscordChannel

__all__ = ["DiscordChannel"]
