"""Discord as a channel. No other package imports discord.py."""

from fairlead.channels.discord import lean_discord as lean_discord
