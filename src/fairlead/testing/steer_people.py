"""People of the simulator who speak into turns that run: with the sign, with the command, in shared threads too."""

import asyncio
from random import Random
from typing import Final

from fairlead.core.ids import MessageId
from fairlead.core.inbound import Inbound
from fairlead.core.requests import Caller, Request, SteerTurn
from fairlead.errors import FairleadError
from fairlead.testing.people import everybody
from fairlead.testing.world import LEAVES_NOTHING, Actor, Life, Participant, Promise, World

_TEXTS: Final = ("!and this", "!look there first", "!/slow 3", "!!an ordinary one", "!/alone 5")
_LONG: Final = (
    "work\n/slow 10\n/slow 10",
    "work\n/alone 20",
    "work\n/hang",
    "work\n/ask make\n/slow 5",
    "work\n/transient",
)


class Steerer:
    """Says something long, and then speaks into it, in one conversation. What was under way when the power went is sent
    again; now and then a text comes twice at once, or a message that waits is given to the turn by the command."""

    has_plans = True
    asks = 0.2
    """How often a command follows a text."""

    def __init__(self, world: World, participant: Participant, *, rounds: int) -> None:
        name = type(self).__name__.lower()
        self._random = Random(f"{world.seed}/{name}/{participant.conversation.address}/{participant.person}")
        self._participant = participant
        self._left = [text for _ in range(rounds) for text in self._round()]
        self._message_id = ""

    def _round(self) -> list[tuple[float, str]]:
        texts = self._random.choices(_TEXTS, k=self._random.choice((1, 2, 3)))
        begun = (self._random.expovariate(1 / 40), self._random.choice(_LONG))
        return [begun, *((self._random.expovariate(1 / 6), text) for text in texts)]

    async def act(self, world: World, life: Life) -> None:
        while self._left:
            wait, text = self._left[0]
            await asyncio.sleep(wait)
            self._message_id = self._message_id or self._new_id(world)
            copies = self._random.choice((1, 1, 2))
            if not all(await asyncio.gather(*(self._send(world, life, text) for _ in range(copies)))):
                continue
            self._left.pop(0)
            self._message_id = ""
            if self._random.random() < self.asks:
                await self._ask(world, life)

    def _new_id(self, world: World) -> str:
        number = world.history.new_message_id()
        return number if self._participant.conversation.channel == "chat" else f"text-{number}"

    async def _send(self, world: World, life: Life, text: str) -> bool:
        who = self._participant
        message_id = self._message_id
        inbound = Inbound(
            conversation=who.conversation,
            session_key=who.session_key,
            message_id=MessageId(message_id),
            person=who.person,
            text=text,
        )
        try:
            receipt = await life.gate.submit(inbound)
        except FairleadError as refusal:
            if refusal.code in LEAVES_NOTHING:
                return False
            life.mark_refused(inbound.conversation, inbound.message_id)
            world.promise(Promise(who.conversation.address, message_id, refusal=refusal.code))
            return True
        world.sent.append((world.loop.time(), inbound))
        world.promise(Promise(who.conversation.address, message_id, receipt.job_id))
        return True

    async def _ask(self, world: World, life: Life) -> None:
        await self._command(world, life, SteerTurn(asked_by=world.history.new_message_id()))

    async def _command(self, world: World, life: Life, request: Request) -> None:
        who = self._participant
        caller = Caller(person=who.person, conversation=who.conversation, session_key=who.session_key)
        asked = f"{who.person} asks for {type(request).__name__}"
        try:
            reply = await life.gate.command(request, caller)
        except FairleadError as refusal:
            world.tell(f"{asked}: {refusal.code}")
        else:
            world.tell(f"{asked}: {reply}")


def everybody_and_steerers(world: World) -> list[Actor]:
    steerers = [Steerer(world, participant, rounds=world.random.randint(0, 2)) for participant in world.participants]
    return [*everybody(world), *steerers]
