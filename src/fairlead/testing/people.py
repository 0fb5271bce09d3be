"""The people, clients and mishaps of the simulator. Each does what its own seed says, life after life."""

import asyncio
from random import Random
from typing import Final

from fairlead.core.ids import MessageId, QuestionId
from fairlead.core.inbound import Inbound
from fairlead.core.job_states import RETRYABLE
from fairlead.core.questions import RespondToQuestion
from fairlead.core.requests import Caller, Cancel, Request, Reset, Retry
from fairlead.errors import Code, FairleadError
from fairlead.testing.world import Actor, Life, Promise, SimulatedPlace, World

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
_LEAVES_NOTHING: Final = frozenset({Code.E_DISK_FULL, Code.E_SHUTDOWN, Code.E_JOURNAL_BROKEN})


class Talker:
    """Sends messages in one place. What was under way when the power went is sent again, as a channel's catch-up
    does; now and then a message comes twice, or twice at once."""

    has_plans = True

    def __init__(self, world: World, place: SimulatedPlace, *, messages: int) -> None:
        self._random = Random(f"{world.seed}/{place.conversation.address}/{place.person}")
        self._place = place
        self._left = [self._message(world, number) for number in range(messages)]

    def _message(self, world: World, number: int) -> tuple[float, str, str]:
        orders = self._random.sample(_ORDERS, k=self._random.choice((0, 0, 1, 1, 2)))
        words = self._random.choice(("ok", f"word {number} of {self._place.person}"))
        return self._random.expovariate(1 / 20), world.history.new_message_id(), "\n".join((words, *orders))

    async def act(self, world: World, life: Life) -> None:
        while self._left:
            wait, message_id, text = self._left[0]
            await asyncio.sleep(wait)
            copies = self._random.choice((1, 1, 1, 2))
            together = [self._send(world, life, message_id, text) for _ in range(copies)]
            was_taken = all(await asyncio.gather(*together))
            if was_taken:
                self._left.pop(0)

    async def _send(self, world: World, life: Life, message_id: str, text: str) -> bool:
        inbound = Inbound(
            conversation=self._place.conversation,
            session_key=self._place.session_key,
            message_id=MessageId(message_id),
            person=self._place.person,
            text=text,
        )
        try:
            receipt = await life.gate.submit(inbound)
        except FairleadError as refusal:
            if refusal.code in _LEAVES_NOTHING:
                return False
            world.promise(Promise(self._place.conversation.address, message_id, refusal=refusal.code))
            return True
        world.promise(Promise(self._place.conversation.address, message_id, receipt.job_id))
        return True


class Clicker:
    """Presses the buttons it sees, soon, late or never, sometimes twice."""

    has_plans = False

    def __init__(self, world: World) -> None:
        self._random = Random(f"{world.seed}/clicker")
        self._seen = 0

    async def act(self, world: World, life: Life) -> None:
        while True:
            await asyncio.sleep(self._random.expovariate(1 / 15))
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
            person=world.random.choice(world.places).person,
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
            place = self._random.choice(world.places)
            request = self._request(life)
            copies = self._random.choice((1, 1, 2))
            await asyncio.gather(*(self._ask(world, life, place, request) for _ in range(copies)))

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

    async def _ask(self, world: World, life: Life, place: SimulatedPlace, request: Request) -> None:
        try:
            caller = Caller(person=place.person, conversation=place.conversation, session_key=place.session_key)
            reply = await life.gate.command(request, caller)
        except FairleadError as refusal:
            world.tell(f"{place.person} asked for {request}: {refusal.code}")
        else:
            world.tell(f"{place.person} asked for {request}: {reply}")


class Fetcher:
    """A client of the pull channel: fetches what waits for it, and says so."""

    has_plans = False

    def __init__(self, world: World) -> None:
        self._random = Random(f"{world.seed}/fetcher")
        self._place = world.places[-1]

    async def act(self, world: World, life: Life) -> None:
        while True:
            await asyncio.sleep(self._random.expovariate(1 / 30))
            for job_id in life.view.unfetched_jobs(self._place.conversation):
                view = await life.view.job(job_id)
                world.tell(f"{self._place.person} fetched {job_id}: {view.state}")
                await life.gate.acknowledge(job_id)


class Mishaps:
    """Rough weather, a channel that goes away, a disk that fills up, a wall clock that is set back. It all passes."""

    has_plans = True

    def __init__(self, world: World) -> None:
        self._random = Random(f"{world.seed}/mishaps")
        self._left = self._random.choice((0, 1, 3))

    async def act(self, world: World, life: Life) -> None:
        while self._left > 0:
            self._left -= 1
            await asyncio.sleep(self._random.expovariate(1 / 30))
            await self._random.choice((self._rough, self._away, self._full))(world, life)

    async def _rough(self, world: World, _life: Life) -> None:
        world.tell("the network is rough")
        world.roughness = 0.4
        await asyncio.sleep(self._random.uniform(5, 300))
        world.roughness = 0.0

    async def _away(self, world: World, life: Life) -> None:
        world.tell("the channel is away")
        world.is_away = True
        await asyncio.sleep(self._random.uniform(5, 900))
        world.is_away = False
        life.gate.came_back("chat")

    async def _full(self, world: World, _life: Life) -> None:
        world.tell("the disk is nearly full")
        world.disk.capacity = world.disk.used_bytes + self._random.randint(0, 2000)
        await asyncio.sleep(self._random.uniform(1, 60))
        world.disk.capacity = None
        world.tell("the disk has space again")


def everybody(world: World) -> list[Actor]:
    """The usual company. Their number and zeal come from the world's seed."""
    talkers = [Talker(world, place, messages=world.random.randint(0, 6)) for place in world.places]
    return [*talkers, Clicker(world), Meddler(world, deeds=world.random.randint(0, 6)), Fetcher(world), Mishaps(world)]
