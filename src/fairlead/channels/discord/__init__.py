"""Discord as a channel. No other package imports discord.py."""
