"""Each new gateway session brings these up to date: marks, direct messages, slash commands, left-over statuses."""

import asyncio

import discord

from fairlead.channels.discord.gateway.client import GatewayClient
from fairlead.channels.discord.gateway.registration import Registration
from fairlead.channels.discord.inbound.direct_messages import DirectMessages
from fairlead.channels.discord.inbound.untold_refusals import UntoldRefusals
from fairlead.channels.discord.live.left_over_statuses import LeftOverStatuses
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS
from fairlead.channels.push.job_marks import JobMarks
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log


class SessionSetup:
    def __init__(
        self,
        *,
        marks: JobMarks,
        untold_refusals: UntoldRefusals,
        direct_messages: DirectMessages,
        registration: Registration,
        left_over: LeftOverStatuses,
        owner: TaskOwner,
    ) -> None:
        self._marks = marks
        self._untold_refusals = untold_refusals
        self._direct_messages = direct_messages
        self._registration = registration
        self._left_over = left_over
        self._owner = owner
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, client: discord.Client) -> None:
        """Each task retries until it succeeds, so each runs by itself: a task that Discord does not let finish would
        hold up those behind it. A new session starts them all again, instead of those that the last one left."""
        self._marks.restore()
        for task in self._tasks:
            task.cancel()
        self._tasks = [
            self._owner.start(self._direct_messages.open_all(), name="direct messages"),
            self._owner.start(self._register_commands(client), name="commands"),
            self._owner.start(self._left_over.close_all(), name="left-over statuses"),
            self._owner.start(self._untold_refusals.tell_all(), name="untold refusals"),
        ]

    async def _register_commands(self, client: discord.Client) -> None:
        assert isinstance(client, GatewayClient)
        assert client.tree is not None, "the bot's client has its slash commands"
        try:
            await self._registration.bring_up_to_date(client, client.tree)
        except DELIVERY_ERRORS as failure:
            log.error("commands not registered", message=repr(failure.__cause__ or failure))
