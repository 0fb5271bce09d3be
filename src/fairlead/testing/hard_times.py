"""Worlds of the simulator in which one thing is hard all the time: much is said while nobody listens, the channel bans
us from the start, or nobody waits for a queue to empty."""

import asyncio
from random import Random

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.keys import thread_key
from fairlead.testing.mishaps import ClockSetter, Outage, RoughWeather
from fairlead.testing.people import Clicker, Talker, everybody
from fairlead.testing.wall_clock import HOUR
from fairlead.testing.world import OWNER, Actor, Life, Participant, World


class Speaker:
    """Writes into a conversation that the channel reads, whether or not a daemon runs."""

    has_plans = True

    def __init__(self, world: World, listener: Participant, *, messages: int) -> None:
        self._random = Random(f"{world.seed}/speaker")
        self._listener = listener
        self._left = messages

    async def act(self, world: World, life: Life) -> None:  # noqa: ARG002 - people write, no matter which process runs
        while self._left > 0:
            await asyncio.sleep(self._random.expovariate(1 / 30))
            self._say(world)

    def speak_while_nobody_runs(self, world: World) -> None:
        for _ in range(min(self._left, self._random.choice((0, 3, 30, 200)))):
            self._say(world)

    def speak_while_it_starts(self, world: World) -> None:
        """When the channel is connected, and the state is not read yet."""
        for _ in range(min(self._left, self._random.choice((0, 1, 3)))):
            self._say(world)

    def _say(self, world: World) -> None:
        self._left -= 1
        text = self._random.choice(("ok", "and this", "and that\n/slow 1", "slowly\n/slow 20"))
        said = world.history.say(self._listener.conversation.address, self._listener.person, text)
        world.tell(f"{said.address} message {said.message_id} is said")


def everybody_and_a_speaker(world: World) -> list[Actor]:
    """The usual company, and a thread that the channel reads by itself, also for what it missed."""
    rng = Random(f"{world.seed}/speakers")
    thread = ConversationRef("chat", "home", "88", "7")
    key = thread_key(agent_id="fairlead", space_id="home", thread_id="88")
    listener = Participant(OWNER, thread, key)
    world.read_conversations.append(listener)
    speaker = Speaker(world, listener, messages=rng.choice((10, 40, 220)))
    world.while_nobody_runs.append(speaker.speak_while_nobody_runs)
    world.while_it_starts.append(speaker.speak_while_it_starts)
    return [*everybody(world), speaker]


def everybody_during_a_ban(world: World) -> list[Actor]:
    """The usual company, on a channel that takes nothing for the first hour: the daemon is killed meanwhile."""
    world.banned_until = HOUR
    world.happened["bans"] += 1
    return everybody(world)


def impatient_people(world: World) -> list[Actor]:
    """They write faster than the agents answer, and the queues are short: many messages are refused."""
    world.limits = msgspec.structs.replace(world.limits, max_queue_per_session=1)
    rng = Random(f"{world.seed}/impatient")
    here = [p for p in world.participants if p.conversation.channel == "chat"]
    return [*(Talker(world, p, messages=rng.randint(2, 12), pause=3.0) for p in here), Clicker(world)]


def everybody_where_much_is_deleted(world: World) -> list[Actor]:
    """The usual company, and two of their conversations are gone before they are answered."""
    here = [p.conversation.address for p in world.participants if p.conversation.channel == "chat"]
    world.history.closed.update(Random(f"{world.seed}/deleted").sample(sorted(set(here)), k=2))
    return everybody(world)


def everybody_while_the_clock_jumps(world: World) -> list[Actor]:
    """The usual company, a clock that is set every minute, and answers that cannot be sent for the first half hour."""
    return [*everybody(world), ClockSetter(world, jumps=8, pause=60.0), Outage(seconds=HOUR / 2)]


def everybody_in_rough_weather(world: World) -> list[Actor]:
    return [*everybody(world), RoughWeather(seconds=HOUR / 4)]
