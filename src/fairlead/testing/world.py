"""Everything around the daemon that a crash leaves alone: people, their screens, agents' deeds, disk and weather.

Knows what was promised to whom. Knows nothing of how the daemon keeps its promises.
"""

import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final, Protocol

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.keys import SessionKey, thread_key, user_key
from fairlead.core.limits import Limits
from fairlead.core.state import State
from fairlead.errors import Code
from fairlead.kit.files import read_if_there, replace_durably
from fairlead.ports import Gate, View
from fairlead.store.config_file import CONFIG_NAME
from fairlead.testing.channel import ChannelHistory, Post, Weather
from fairlead.testing.clock import VirtualLoop
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.processes import SimulatedProcesses
from fairlead.testing.runtime import AgentLog, Invoked

STATE: Final = Path("/state")
STATE_ID: Final = "simu"
JOURNAL: Final = STATE / "events.ndjson"
OWNER: Final = "ada"
PEOPLE: Final = (OWNER, "ben", "cleo")

_BAD_WEATHER: Final = tuple(w for w in Weather if w not in {Weather.FAIR, Weather.AWAY})


class SimulatedPlace(msgspec.Struct, frozen=True):
    """A conversation of a person, and the session that it leads to."""

    person: str
    conversation: ConversationRef
    session_key: SessionKey


class Promise(msgspec.Struct, frozen=True):
    """What a person was told about a message: it is this job, or it is refused for this reason."""

    address: str
    message_id: str
    job_id: str = ""
    refusal: Code | None = None


class Life(Protocol):
    """The daemon from one start to the next crash, as people reach it."""

    number: int

    @property
    def gate(self) -> Gate: ...

    @property
    def view(self) -> View: ...

    @property
    def state(self) -> State:
        """For those who choose at random among all that there is: no channel sees that much."""
        ...


class Actor(Protocol):
    """A person, a client or a fault outside of the daemon. `act` is called once in every life; an actor with
    `has_plans` returns when it has nothing left to do, and the simulation is not quiet before."""

    has_plans: bool

    async def act(self, world: "World", life: Life) -> None: ...


class World:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.loop = VirtualLoop()
        self.disk = SimulatedDisk()
        self.history = ChannelHistory()
        self.history.on_post = self._check_post
        self.limits = Limits(
            allowed_people=PEOPLE,
            max_queue_per_session=self.random.choice((2, 5, 20)),
            global_max_running=self.random.choice((1, 2, 3)),
            max_waiting=self.random.choice((1, 8)),
        )
        self.agents = AgentLog(slots=self.limits.global_max_running)
        self.agents.on_begin = self._check_begin
        self.processes = SimulatedProcesses()
        self.lock_holder = 0
        self.unchecked: set[str] = set()
        self.added_by_hand: set[str] = set()
        self.places = self._places()
        self.actors: list[Actor] = []
        self.promises: list[Promise] = []
        self.violations: list[str] = []
        self.story: list[str] = []
        self.lives = 0
        self.steps = 0
        self.is_away = False
        self.roughness = 0.0
        self._heard_of: set[str] = set()

    def _places(self) -> list[SimulatedPlace]:
        places = [
            SimulatedPlace(
                person,
                ConversationRef("chat", "home", f"{10 + number}"),
                user_key(agent_id="fairlead", user_id=person),
            )
            for number, person in enumerate(PEOPLE)
        ]
        shared = thread_key(agent_id="fairlead", space_id="home", thread_id="77")
        thread = ConversationRef("chat", "home", "77", "7")
        pulled = ConversationRef("pull", "home", OWNER)
        web = user_key(agent_id="fairlead", user_id="web")
        return [*places, *(SimulatedPlace(p, thread, shared) for p in PEOPLE[:2]), SimulatedPlace(OWNER, pulled, web)]

    # --- what happens outside ------------------------------------------------------------------------------------

    def tell(self, words: str) -> None:
        self.story.append(f"{self.loop.time():10.3f} life {self.lives}: {words}")

    def accuse(self, words: str) -> None:
        self.violations.append(words)
        self.tell(f"WRONG: {words}")

    def latency(self) -> float:
        """Mostly short, now and then long: a disk or a network as it is."""
        return math.exp(self.random.uniform(math.log(0.0005), math.log(0.5)))

    def weather(self) -> Weather:
        if self.is_away:
            return Weather.AWAY
        return self.random.choice(_BAD_WEATHER) if self.random.random() < self.roughness else Weather.FAIR

    def clear_up(self) -> None:
        """Whatever went wrong around the daemon is over."""
        self.is_away = False
        self.roughness = 0.0
        self.disk.capacity = None

    def leave_agents_over(self, rng: Random) -> None:
        """The daemon died and the machine did not: most agents that it ran do not notice."""
        for invoked in self.agents.under_way():
            if rng.random() < 0.8:
                process = self.processes.leave(f"{STATE_ID}:{invoked.session_key}")
                self.tell(f"process {process.pid} of {invoked.job_id} is left over")

    def edit_config(self, disk: SimulatedDisk) -> None:
        """A person adds a project to config.json by hand while no daemon runs."""
        path = STATE / CONFIG_NAME
        data = read_if_there(path, disk=disk)
        if data is None:
            return
        name = f"by-hand-{len(self.added_by_hand) + 1}"
        content: dict[str, Any] = msgspec.json.decode(data)
        project = {"name": name, "path": f"/srv/{name}", "enabled_tools": ["echo"], "default_tool": "echo"}
        content["projects"][name] = project
        disk.capacity = None
        replace_durably(path, msgspec.json.encode(content), disk=disk)
        self.added_by_hand.add(name)
        self.tell(f"project {name} is added by hand")

    def expect_recheck(self, state: State) -> None:
        """Jobs that an earlier life left queued: none may begin before its channel looked at its message again."""
        queued = (state.jobs[job_id] for session in state.sessions.values() for job_id in session.queue)
        self.unchecked = {job.job_id for job in queued if job.conversation.channel == "chat"}

    def _check_begin(self, invoked: Invoked) -> None:
        if self.processes.left:
            pids = [process.pid for process in self.processes.left]
            self.accuse(f"{invoked.job_id} began while processes {pids} of an earlier life were still there")
        if invoked.job_id in self.unchecked:
            self.accuse(f"{invoked.job_id} began before its message was looked at once more")

    def promise(self, promise: Promise) -> None:
        """A person was told what became of a message: that must be durable already, and stay true."""
        self.promises.append(promise)
        what = promise.job_id or f"refused {promise.refusal}"
        self.tell(f"{promise.address} message {promise.message_id} is {what}")
        if f'"{promise.message_id}"'.encode() not in self.disk.durable_bytes(JOURNAL):
            self.accuse(f"message {promise.message_id} was acknowledged as {what} before it was durable")

    def _check_post(self, post: Post) -> None:
        self.tell(f"{post.address} sees {post.entry_id}[{post.index}]: {post.text[:40]!r}")
        if not self._is_owed_durably(post.entry_id):
            self.accuse(f"{post.entry_id} was posted before what it is about was durable")

    def _is_owed_durably(self, entry_id: str) -> bool:
        if entry_id not in self._heard_of:
            durable = self.disk.durable_bytes(JOURNAL)
            owed = b'"type":"DeliveryOwed","payload":{"debt_id":"%s"' % entry_id.encode()
            planned = b'"type":"DeliveryPlanned","payload":{"debt_id":"%s"' % entry_id.encode()
            if owed not in durable or planned not in durable:
                return False
            self._heard_of.add(entry_id)
        return True


ActorMaker = Callable[[World], list[Actor]]
