"""Who the bot is on Discord. Each new gateway session fills it in."""

import discord


class BotIdentity:
    """Before the first session its ids match no message."""

    def __init__(self) -> None:
        self.bot_id = 0
        self._application_id: int | None = None

    def learn(self, client: discord.Client) -> None:
        self.bot_id = client.user.id if client.user is not None else 0
        self._application_id = client.application_id

    def wrote(self, message: discord.Message) -> bool:
        """As the bot itself, or by a webhook of its application."""
        if message.author.id == self.bot_id:
            return True
        return self._application_id is not None and message.application_id == self._application_id
