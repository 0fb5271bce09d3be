"""The gateway client together with its slash commands. A new one is made for every login."""

import msgspec

from fairlead.channels.discord.commands.runner import CommandRunner
from fairlead.channels.discord.commands.tree import Tree
from fairlead.channels.discord.gateway.client import GatewayClient, GatewayListener, IdentifyPace
from fairlead.channels.discord.outbound.api_ban import ApiBan
from fairlead.core.command_spec import CommandCatalogue
from fairlead.settings import Settings


class BotClient(GatewayClient):
    """discord.py hands a command the client it came by: the command finds its runner there."""

    def __init__(
        self,
        listener: GatewayListener,
        pace: IdentifyPace,
        *,
        command_runner: CommandRunner,
        settings: Settings,
        commands: CommandCatalogue,
        ban: ApiBan,
    ) -> None:
        super().__init__(
            listener,
            pace,
            settings.discord_app_id,
            heartbeat_timeout_sec=settings.discord_heartbeat_timeout_sec,
            http_trace=ban.trace(),
        )
        self.command_runner = command_runner
        self.tree = Tree(self, commands)


class BotClientFactory(msgspec.Struct, frozen=True, kw_only=True):
    listener: GatewayListener
    pace: IdentifyPace
    command_runner: CommandRunner
    settings: Settings
    commands: CommandCatalogue
    ban: ApiBan

    def make(self) -> GatewayClient:
        return BotClient(
            self.listener,
            self.pace,
            command_runner=self.command_runner,
            settings=self.settings,
            commands=self.commands,
            ban=self.ban,
        )
