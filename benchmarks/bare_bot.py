"""The floor: a bot that gives every message to an agent, sends back what it says, and keeps nothing. A program of its
own: `python -m benchmarks.bare_bot warm|spawn API GATEWAY TOKEN AGENT`."""

import asyncio
import json
import sys

import discord
import discord.http
import yarl
from discord.gateway import DiscordWebSocket

HOW, API, GATEWAY, TOKEN, AGENT = sys.argv[1:]
discord.http.Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = API, yarl.URL(GATEWAY)
PIPE = asyncio.subprocess.PIPE
TWO_WAY = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")


class BareBot(discord.Client):
    def __init__(self) -> None:
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)
        super().__init__(intents=intents, max_messages=None)
        self.agents: dict[int, asyncio.subprocess.Process] = {}

    async def on_message(self, message: discord.Message) -> None:
        if not message.author.bot:
            answer = await (self.ask if HOW == "warm" else self.spawn)(message)
            for begin in range(0, len(answer), 2000):
                await message.reply(answer[begin : begin + 2000])

    async def ask(self, message: discord.Message) -> str:
        """One agent for each conversation, kept."""
        agent = self.agents.get(message.channel.id)
        if agent is None:
            agent = await asyncio.create_subprocess_exec(AGENT, *TWO_WAY, stdin=PIPE, stdout=PIPE)
            self.agents[message.channel.id] = agent
        assert agent.stdin is not None
        prompt = {"type": "user", "uuid": str(message.id), "message": {"role": "user", "content": message.content}}
        agent.stdin.write(json.dumps(prompt).encode() + b"\n")
        return await read_result(agent)

    async def spawn(self, message: discord.Message) -> str:
        agent = await asyncio.create_subprocess_exec(AGENT, "-p", message.content, stdout=PIPE)
        result = await read_result(agent)
        await agent.wait()
        return result


async def read_result(agent: asyncio.subprocess.Process) -> str:
    assert agent.stdout is not None
    async for line in agent.stdout:
        said = json.loads(line)
        if said["type"] == "result":
            return str(said["result"])
    raise EOFError


BareBot().run(TOKEN, log_handler=None)
