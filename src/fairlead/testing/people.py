"""The people and clients of the simulator. Each does what its own seed says, life after life."""

import asyncio
from random import Random
from typing import Final

from fairlead.core.ids import MessageId, QuestionId
from fairlead.core.inbound import Inbound
from fairlead.core.job_states import RETRYABLE
from fairlead.core.questions import RespondToQuestion
from fairlead.core.requests import Caller, Cancel, Request, Reset, Retry
from fairlead.errors import FairleadError
from fairlead.testing.mishaps import Mishaps
from fairlead.testing.world import LEAVES_NOTHING, Actor, Life, Participant, Promise, World

_ORDERS: Final = (
    "/slow 1",
    "/slow 20",
    "/tool Bash make",
    "/long 700",
    "/transient",
    "/fail E_CLI_EXIT_NONZERO",
    "/ask rm -rf build",
    "/question Which? | red | blue",
    "/plan this, then that",
    "/image",
    "/unasked by the way",
    "/usage 10 5 0.01",
    "/hang",
)


class Talker:
    """Sends messages in one conversation. What was under way when the power went is sent again, as a channel's catch-up
    does; now and then a message comes twice, or twice at once."""

    has_plans = True

    def __init__(self, world: World, participant: Participant, *, messages: int, pause: float = 20.0) -> None:
        self._random = Random(f"{world.seed}/{participant.conversation.address}/{participant.person}")
        self._participant = participant
        self._pause = pause
        self._left = [self._message(number) for number in range(messages)]
        self._message_id = ""

    def _message(self, number: int) -> tuple[float, str]:
        orders = self._random.sample(_ORDERS, k=self._random.choice((0, 0, 1, 1, 2)))
        words = self._random.choice(("ok", f"word {number} of {self._participant.person}"))
        return self._random.expovariate(1 / self._pause), "\n".join((words, *orders))

    async def act(self, world: World, life: Life) -> None:
        while self._left:
            wait, text = self._left[0]
            await asyncio.sleep(wait)
            self._message_id = self._message_id or self._new_message_id(world)
            copies = self._random.choice((1, 1, 1, 2))
            together = [self._send(world, life, self._message_id, text) for _ in range(copies)]
            was_taken = all(await asyncio.gather(*together))
            if was_taken:
                self._left.pop(0)
                self._message_id = ""

    def _new_message_id(self, world: World) -> str:
        """A client that fetches names its messages by keys of its own, which do not rise."""
        number = world.history.new_message_id()
        return number if self._participant.conversation.channel == "chat" else f"key-{number}"

    async def _send(self, world: World, life: Life, message_id: str, text: str) -> bool:
        inbound = Inbound(
            conversation=self._participant.conversation,
            session_key=self._participant.session_key,
            message_id=MessageId(message_id),
            person=self._participant.person,
            text=text,
        )
        try:
            receipt = await life.gate.submit(inbound)
        except FairleadError as refusal:
            if refusal.code in LEAVES_NOTHING:
                return False
            life.mark_refused(inbound.conversation, inbound.message_id)
            world.promise(Promise(self._participant.conversation.address, message_id, refusal=refusal.code))
            return True
        world.sent.append((world.loop.time(), inbound))
        world.promise(Promise(self._participant.conversation.address, message_id, receipt.job_id))
        return True


class Clicker:
    """Presses the buttons it sees, soon, late or never, sometimes twice."""

    has_plans = False

    def __init__(self, world: World, *, pause: float = 15.0) -> None:
        self._random = Random(f"{world.seed}/clicker")
        self._pause = pause
        self._seen = 0

    async def act(self, world: World, life: Life) -> None:
        while True:
            await asyncio.sleep(self._random.expovariate(1 / self._pause))
            asked = [p.question_id for p in world.history.posts[self._seen :] if p.question_id]
            self._seen = len(world.history.posts)
            for question_id in asked:
                if self._random.random() < 0.8:
                    clicks = self._random.choice((1, 1, 2))
                    await asyncio.gather(*(self._click(world, life, QuestionId(question_id)) for _ in range(clicks)))

    async def _click(self, world: World, life: Life, question_id: QuestionId) -> None:
        verdict = self._random.choice(("allow", "deny"))
        response = RespondToQuestion(
            question_id=question_id,
            person=world.random.choice(world.participants).person,
            verdict=verdict,
            chosen={"Which?": "red"},
        )
        try:
            job_id = await life.gate.respond(response)
        except FairleadError as refusal:
            world.tell(f"clicked {question_id}: {refusal.code}")
        else:
            world.tell(f"clicked {question_id}: {verdict}, {job_id} goes on")


class Meddler:
    """Retries failed jobs, cancels running ones, resets sessions."""

    has_plans = True

    def __init__(self, world: World, *, deeds: int) -> None:
        self._random = Random(f"{world.seed}/meddler")
        self._left = deeds

    async def act(self, world: World, life: Life) -> None:
        while self._left > 0:
            await asyncio.sleep(self._random.expovariate(1 / 40))
            self._left -= 1
            participant = self._random.choice(world.participants)
            request = self._request(life)
            copies = self._random.choice((1, 1, 2))
            await asyncio.gather(*(self._ask(world, life, participant, request) for _ in range(copies)))

    def _request(self, life: Life) -> Request:
        jobs = life.state.jobs.values()
        retryable = [j.job_id for j in jobs if j.state in RETRYABLE]
        alive = [j.job_id for j in jobs if j.is_live]
        choice = self._random.random()
        if retryable and choice < 0.5:
            return Retry(self._random.choice(retryable))
        if alive and choice < 0.8:
            return Cancel(self._random.choice((*alive, "")))
        return Reset()

    async def _ask(self, world: World, life: Life, participant: Participant, request: Request) -> None:
        try:
            caller = Caller(
                person=participant.person, conversation=participant.conversation, session_key=participant.session_key
            )
            reply = await life.gate.command(request, caller)
        except FairleadError as refusal:
            world.tell(f"{participant.person} asked for {request}: {refusal.code}")
        else:
            world.tell(f"{participant.person} asked for {request}: {reply}")


class Fetcher:
    """A client of the pull channel: fetches what waits for it, and says so."""

    has_plans = False

    def __init__(self, world: World, *, pause: float = 30.0) -> None:
        self._random = Random(f"{world.seed}/fetcher")
        self._pause = pause
        self._participant = world.participants[-1]

    async def act(self, world: World, life: Life) -> None:
        while True:
            await asyncio.sleep(min(self._random.expovariate(1 / self._pause), 3 * self._pause))
            for job_id in life.view.unfetched_jobs(self._participant.conversation):
                view = await life.view.job(job_id)
                world.tell(f"{self._participant.person} fetched {job_id}: {view.state}")
                await life.gate.acknowledge(job_id)
            for sent in life.view.unfetched_messages(self._participant.conversation):
                world.tell(f"{self._participant.person} fetched {sent.sent_id}")
                await life.gate.acknowledge_message(sent.sent_id)


def everybody(world: World) -> list[Actor]:
    """The usual company. Their number and zeal come from the world's seed."""
    talkers = [Talker(world, participant, messages=world.random.randint(0, 6)) for participant in world.participants]
    return [*talkers, Clicker(world), Meddler(world, deeds=world.random.randint(0, 6)), Fetcher(world), Mishaps(world)]
