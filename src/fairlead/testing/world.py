"""Everything around the daemon that a crash leaves alone: people, their screens, agents' deeds, disk and weather.

Knows what was promised to whom. Knows nothing of how the daemon keeps its promises.
"""

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final, Protocol

import msgspec

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.conversation import ConversationRef
from fairlead.core.ids import MessageId
from fairlead.core.inbound import Inbound
from fairlead.core.keys import SessionKey, thread_key, user_key
from fairlead.core.limits import Limits
from fairlead.core.replies import Spawned
from fairlead.core.state import State
from fairlead.errors import Code
from fairlead.flow.spawns.spawning import AgentAsks
from fairlead.kit.files import read_if_there, replace_durably
from fairlead.ports import NO_WORKTREES, Gate, OutgoingMessage, ToolHandler, View, Worktrees
from fairlead.store.config_file import CONFIG_NAME
from fairlead.testing.channel import ChannelHistory, Post, Weather
from fairlead.testing.clock import VirtualLoop
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.long_lived_runtime import AgentsOfTheWorld
from fairlead.testing.processes import SimulatedProcesses
from fairlead.testing.runtime import AgentLog, Invoked, Steered
from fairlead.testing.wall_clock import WallClock
from fairlead.tree_ports import NO_TREES, WorkTrees

STATE: Final = Path("/state")
STATE_ID: Final = "simu"
JOURNAL: Final = STATE / "events.ndjson"
OWNER: Final = "ada"
PEOPLE: Final = (OWNER, "ben", "cleo")

LEAVES_NOTHING: Final = frozenset({Code.E_DISK_FULL, Code.E_SHUTDOWN, Code.E_JOURNAL_BROKEN})
"""Refusals after which the journal says nothing of the message: its sender sends it again."""

_BAD_WEATHER: Final = tuple(w for w in Weather if w not in {Weather.FAIR, Weather.AWAY, Weather.BANNED})


class Participant(msgspec.Struct, frozen=True):
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


class MadeCall(msgspec.Struct, frozen=True):
    """A call of one of Fairlead's own tools, of which an agent was told that it is done."""

    call_id: str
    session_key: str
    tool: str


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

    @property
    def agent_calls(self) -> ToolHandler:
        """What agents reach with Fairlead's own tools."""
        ...

    def mark_refused(self, conversation: ConversationRef, message_id: MessageId) -> None:
        """The channel marks a message that was refused, as it marks those that became jobs."""
        ...

    async def configure_agent(self, agent: ConfiguredAgent) -> None:
        """As `fairlead agent add` does it, while the daemon runs."""
        ...

    async def spawn(self, asker: AgentAsks, *, task: str, asked_by: str) -> Spawned:
        """As the agent of a session asks for another one."""
        ...


class Actor(Protocol):
    """A person, a client or a fault outside of the daemon. `act` is called once in every life; an actor with
    `has_plans` returns when it has nothing left to do, and the simulation is not quiet before."""

    has_plans: bool

    async def act(self, world: "World", life: Life) -> None: ...


class World:
    longest_life = 3 * 86400.0

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.loop = VirtualLoop()
        self.disk = SimulatedDisk()
        self.history = ChannelHistory()
        self.history.on_post = self._check_post
        self.history.on_impatience = self._accuse_impatience
        self.limits = Limits(
            allowed_people=PEOPLE,
            max_queue_per_session=self.random.choice((2, 5, 20)),
            global_max_running=self.random.choice((1, 2, 3)),
            max_waiting=self.random.choice((1, 8)),
        )
        self.agents = AgentLog(slots=self.limits.global_max_running)
        self.agents.on_begin = self._check_begin
        self.agents.on_steer = self._check_steer
        self.trees: WorkTrees = NO_TREES
        self.worktrees: Worktrees = NO_WORKTREES
        self.processes = SimulatedProcesses()
        chance = Random(f"{seed}/prepared agents")
        self.started_agents = AgentsOfTheWorld(latency=self.latency, fails=lambda: chance.random() < 0.2)
        self.lock_holder = 0
        self.unchecked: set[str] = set()
        self.added_by_hand: set[str] = set()
        self.participants = self._participants()
        self.read_conversations: list[Participant] = []
        self.sent: list[tuple[float, Inbound]] = []
        self.while_nobody_runs: list[Callable[[World], None]] = []
        self.while_it_starts: list[Callable[[World], None]] = []
        self.happened: Counter[str] = Counter()
        self.wall = WallClock()
        self.pauses = (0.5, 30.0, 600.0)
        self.actors: list[Actor] = []
        self.promises: list[Promise] = []
        self.events_taken: dict[int, str] = {}
        self.made_calls: list[MadeCall] = []
        self.spawn_promises: list[tuple[str, Spawned]] = []
        self.violations: list[str] = []
        self.story: list[str] = []
        self.lives = 0
        self.steps = 0
        self.is_away = False
        self.roughness = 0.0
        self.banned_until = 0.0
        self.is_sending_down = False
        self.places_without_sending: set[str] = set()
        self.forbidden: set[str] = set()
        self._heard_of: set[str] = set()
        self.lost_journals: set[str] = set()
        """Runners whose files are gone, so that nobody knows what became of their turns."""

    def _participants(self) -> list[Participant]:
        participants = [
            Participant(
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
        return [*participants, *(Participant(p, thread, shared) for p in PEOPLE[:2]), Participant(OWNER, pulled, web)]

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
        if self.ban_left() > 0:
            return Weather.BANNED
        return self.random.choice(_BAD_WEATHER) if self.random.random() < self.roughness else Weather.FAIR

    def ban_left(self) -> float:
        return max(0.0, self.banned_until - self.loop.time())

    def is_sending_down_at(self, address: str) -> bool:
        return self.is_sending_down or address in self.places_without_sending

    def jump_clock(self, seconds: float) -> None:
        self.wall.jump(seconds, self.loop.time())
        self.happened["jumps of the clock"] += 1
        # A process knows the times that an earlier one was told by the wall clock alone, and that was set.
        self.history.keep_times(lambda named: named.life == self.history.life)
        self.tell(f"the clock jumps by {seconds / 86400:.1f} days")

    def keep_recorded_times(self, found: SimulatedDisk) -> None:
        """After a crash: the next process knows the times that the journal has, if the last one got to write them down
        and the wall clock was not set since."""
        recorded: dict[str, float] = {}
        for raw in (read_if_there(JOURNAL, disk=found) or b"").splitlines():
            if b'"type":"DeliveryDeferred"' in raw and b"\0" not in raw and raw.endswith(b"}"):
                line = msgspec.json.decode(raw)
                recorded[line["payload"]["debt_id"]] = self.wall.last_time_of(line["ts"])
        self.history.keep_times(
            lambda named: recorded.get(named.entry_id, -1.0) >= named.named_at > self.wall.last_jump
        )

    def give_worktrees(self, directory: str) -> None:
        """Sessions can have worktrees, in this directory."""
        self.limits = msgspec.structs.replace(self.limits, worktrees=directory)

    def begin_life(self) -> None:
        self.lives += 1
        self.history.life = self.lives

    def clear_up(self) -> None:
        """Whatever went wrong around the daemon is over. A ban ends at its own time, a wrong clock stays."""
        self.is_away = False
        self.is_sending_down = False
        self.places_without_sending.clear()
        self.forbidden.clear()
        self.roughness = 0.0
        self.disk.capacity = None

    def leave_agents_over(self, rng: Random) -> None:
        """The daemon died and the machine did not: most agents that it ran do not notice."""
        for invoked in self.agents.under_way():
            if rng.random() < 0.8:
                process = self.processes.leave(f"{STATE_ID}:{invoked.session_key}")
                self.tell(f"process {process.pid} of {invoked.job_id} is left over")
        for agent in self.started_agents.alive_in(self.lives):
            process = self.processes.leave(agent.mark)
            self.tell(f"process {process.pid} of {agent.ticket} is left over")

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

    def _check_steer(self, given: Steered) -> None:
        begun = b'"type":"SteeringBegun","payload":{"job_id":"%s"' % given.job_id.encode()
        if begun not in self.disk.durable_bytes(JOURNAL):
            self.accuse(f"{given.job_id} was given to a turn before that was written down")

    def promise(self, promise: Promise) -> None:
        """A person was told what became of a message: that must be durable already, and stay true."""
        self.promises.append(promise)
        what = promise.job_id or f"refused {promise.refusal}"
        self.tell(f"{promise.address} message {promise.message_id} is {what}")
        if f'"{promise.message_id}"'.encode() not in self.disk.durable_bytes(JOURNAL):
            self.accuse(f"message {promise.message_id} was acknowledged as {what} before it was durable")

    def note_call(self, made: MadeCall) -> None:
        """An agent was told that its call is done: that must be durable already."""
        self.made_calls.append(made)
        self.happened["calls of agents"] += 1
        if f'"{made.call_id}"'.encode() not in self.disk.durable_bytes(JOURNAL):
            self.accuse(f"{made.call_id} was acknowledged before it was durable")

    def promise_spawn(self, asked_by: str, reply: Spawned) -> None:
        """Somebody was told that a task was taken: that must be durable already, and stay true."""
        self.spawn_promises.append((asked_by, reply))
        self.tell(f"the task {asked_by} is for {reply.session_key or 'a thread'}, back to the {reply.returns}")
        if f'"asked_by":"{asked_by}"'.encode() not in self.disk.durable_bytes(JOURNAL):
            self.accuse(f"the task {asked_by} was acknowledged before it was durable")

    def _accuse_impatience(self, outgoing: OutgoingMessage) -> None:
        self.accuse(f"{outgoing.entry_id} was tried again before the time that the channel had named")

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
