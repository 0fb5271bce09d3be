"""Who the bot is on Discord. The gateway fills it in with each new session; before the first one it is nobody."""

import discord


class BotIdentity:
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
