"""Makes a gateway client into the bot: somebody listens to it, and it has its slash commands."""

import msgspec

from fairlead.channels.discord.commands.runner import CommandRunner
from fairlead.channels.discord.commands.tree import Tree
from fairlead.channels.discord.gateway.client import GatewayClient, GatewayListener
from fairlead.core.command_spec import CommandCatalogue


class BotEquipment(msgspec.Struct, frozen=True, kw_only=True):
    listener: GatewayListener
    command_runner: CommandRunner
    commands: CommandCatalogue

    def give_to(self, client: GatewayClient) -> None:
        """From here on the client reads what Discord sends."""
        client.command_runner = self.command_runner
        client.tree = Tree(client, self.commands)
        client.listen(self.listener)
