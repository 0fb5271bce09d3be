"""A Discord of our own on 127.0.0.1: REST v10, gateway and CDN, for tests that run a real client on it.

async with LoopbackDiscord.start() as discord:
    channel = discord.text_channel(discord.guild())
    ada = discord.person("ada", locale="ja")
    ...  # start the bot with discord.api, discord.gateway_url and discord.token
    await discord.gateway.ready()
    said = ada.tell_bot(channel, "hello")
    answer = await channel.wait_for_answer(after=said)
    reply = await ada.slash(channel, "project create", name="api").reply()
    discord.faults.next("POST", "/channels/*/messages", Fault.after_work(500))
    discord.clock.advance(3600)
    assert discord.violations == []
"""

from .asked import Asked
from .board import WaitedInVain
from .clock import Clock
from .conversations import Conversation
from .faults import Fault
from .model import Allow, Message, Upload
from .people import Person
from .ratelimits import Rule
from .server import LoopbackDiscord
from .slash import CannotType

__all__ = [
    "Allow",
    "Asked",
    "CannotType",
    "Clock",
    "Conversation",
    "Fault",
    "LoopbackDiscord",
    "Message",
    "Person",
    "Rule",
    "Upload",
    "WaitedInVain",
]
