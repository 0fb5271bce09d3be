"""The connection that a start begins before the rest of Fairlead is loaded and the state is read."""

from fairlead.channels.discord.gateway.attempt import GatewayAttempt
from fairlead.channels.discord.gateway.client_maker import ClientMaker
from fairlead.settings import Settings


class FirstConnection:
    """The channel takes it over, and reads what Discord sends from then on."""

    def __init__(self, settings: Settings) -> None:
        assert settings.discord_token is not None
        self.clients = ClientMaker.from_settings(settings)
        self.attempt = GatewayAttempt(self.clients.make(), settings.discord_token.reveal())

    async def aclose(self) -> None:
        """For a start that comes to nothing, and for the end of all others."""
        await self.attempt.aclose()
