"""Discord as a channel. No other package imports discord.py."""

from fairlead.channels.discord.channel import DiscordChannel

__all__ = ["DiscordChannel"]
