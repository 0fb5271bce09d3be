"""The push channel of one life of the daemon, on a history that outlives it: it sends, it marks people's messages, and
it reads what they wrote while the daemon was down. What goes wrong in it is the world's choice."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable
from typing import TypeAlias

from fairlead.channels.push.job_marks import JobMarks
from fairlead.channels.push.marks import WantedMarks
from fairlead.core.conversation import ConversationRef
from fairlead.core.ids import MessageId
from fairlead.core.inbound import Inbound
from fairlead.core.machines.places import machine_of
from fairlead.core.views import JobView
from fairlead.errors import Code, FairleadError
from fairlead.flow.assembly import Flow
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import DeliveryForbidden, DeliveryImpossible, OutcomeUnknown, OutgoingMessage
from fairlead.testing.channel import RecordingChannel, SaidMessage
from fairlead.testing.world import LEAVES_NOTHING, Participant, Promise, World

_Message: TypeAlias = tuple[str, str]
"""The address of a conversation, and the id of a message there."""


class SimulatedChat(RecordingChannel):
    def __init__(self, world: World) -> None:
        super().__init__(world.history, weather=world.weather, latency=world.latency, ban_left=world.ban_left)
        self._world = world
        self._flow: Flow | None = None
        self._marks: JobMarks | None = None
        self._unmarked: dict[_Message, str] = {}
        self._want: Callable[[_Message, str], None] = self._unmarked.__setitem__
        self._unread = 0
        self._news = asyncio.Event()
        self._missed_until: dict[str, int] = {}
        self._frames: defaultdict[str, deque[SaidMessage]] = defaultdict(deque)
        self.may_read = False

    @property
    def is_busy(self) -> bool:
        """Whether a mark that is wanted does not stand yet, or a message that was said has not been read."""
        return bool(self._unmarked or self._unread)

    # --- the start

    def connect(self) -> None:
        """From here on the channel is sent what people say. It waits until the channel runs."""
        addresses = [listener.conversation.address for listener in self._world.read_conversations]
        self._missed_until = {address: self.history.last_said(address) for address in addresses}
        self.history.on_say = self._receive

    def _receive(self, said: SaidMessage) -> None:
        if not self._is_unplugged:
            self._frames[said.address].append(said)
            self._news.set()

    def join(self, flow: Flow) -> None:
        self._flow = flow
        self._marks = JobMarks(self.name, flow.view, self._want_mark)

    def prepare(self) -> None:
        world = self._world
        assert self._flow is not None
        assert self._marks is not None
        state = self._flow.ledger.state
        here = [i for i in (*state.running, *state.waiting) if not machine_of(state.jobs[i].project_path)]
        if here:
            world.accuse(f"{here} were still called running when the channel was prepared")
        if any(invoked.life == world.lives for invoked in world.agents.invoked):
            world.accuse("the channel was prepared when jobs of its own life had begun")
        self._marks.note_ends()

    async def run(self) -> None:
        assert self._flow is not None
        assert self._marks is not None
        if not self.may_read:
            self._world.accuse("the channel read what it was sent before the workers ran")
        self._world.happened["messages that came during a start"] += sum(map(len, self._frames.values()))
        watch = self._flow.view.watch()
        async with TaskOwner("chat") as owner:
            self._want = WantedMarks(self._set_mark, self._clear_mark, owner).want
            self._marks.restore()
            for listener in self._world.read_conversations:
                owner.start(self._read(listener), name=listener.conversation.address)
            async for event in watch:
                self._marks.follow(event)

    # --- sending

    async def send(self, outgoing: OutgoingMessage) -> str:
        address = outgoing.destination.address
        if self._world.is_sending_down_at(address):
            await asyncio.sleep(self._latency())
            self._world.happened["sends that failed in one place"] += 1
            raise OutcomeUnknown("sending is down; looking is not")
        if address in self._world.forbidden:
            await asyncio.sleep(self._latency())
            self._world.happened["sends without the right"] += 1
            raise DeliveryForbidden(Code.E_THREAD_ACCESS_FAILED, "nobody may send here")
        return await super().send(outgoing)

    # --- marks

    def refuse(self, conversation: ConversationRef, message_id: MessageId) -> None:
        assert self._marks is not None
        if conversation.channel == self.name:
            self._marks.refuse(conversation, message_id)

    def _want_mark(
        self, conversation: ConversationRef, message_id: MessageId, mark: str, _may_stand: tuple[str, ...]
    ) -> None:
        message = (conversation.address, message_id)
        self._unmarked[message] = mark
        self._want(message, mark)

    async def _set_mark(self, message: _Message, mark: str) -> None:
        while self._world.is_away:  # noqa: ASYNC110 - a world that a test may change at any time has no event for it
            await asyncio.sleep(5.0)
        await asyncio.sleep(self._latency())
        if self._is_unplugged:
            raise DeliveryImpossible(Code.E_UNDELIVERABLE, "unplugged")
        self.history.mark(*message, mark, asyncio.get_running_loop().time())
        if self._unmarked.get(message) == mark:
            del self._unmarked[message]

    async def _clear_mark(self, _message: _Message, _mark: str) -> None:
        await asyncio.sleep(self._latency())

    # --- reading what people said

    async def _read(self, listener: Participant) -> None:
        """From the last message that left a fact to the first that was sent: missed ones as the queue has room. Then
        live ones as they come."""
        assert self._flow is not None
        at, view = listener.conversation, self._flow.view
        since, until = view.last_message_seen(at) or 0, self._missed_until[at.address]
        while (said := self.history.next_said(at.address, since)) is not None and int(said.message_id) <= until:
            self._unread = 1
            is_missed = view.message_outcome(at, said.message_id) is None
            if is_missed:
                await self._until_room(listener)
                self._world.happened["messages that were missed"] += 1
            await self._take(listener, said, is_missed=is_missed)
            since = int(said.message_id)
        while True:
            await self._take(listener, await self._next_frame(at.address), is_missed=False)

    async def _next_frame(self, address: str) -> SaidMessage:
        frames = self._frames[address]
        self._unread = int(bool(frames))
        while not frames:
            self._news.clear()
            await self._news.wait()
        self._unread = 1
        return frames.popleft()

    async def _take(self, listener: Participant, said: SaidMessage, *, is_missed: bool) -> None:
        while not await self._submit(listener, said, is_missed=is_missed):  # noqa: ASYNC110 - a full disk has no event
            await asyncio.sleep(1.0)

    async def _until_room(self, listener: Participant) -> None:
        assert self._flow is not None
        view = self._flow.view
        watch = view.watch()
        try:
            while not view.has_room(listener.conversation, listener.session_key):
                self._world.happened["waits for room"] += 1
                await anext(aiter(watch))
        finally:
            await watch.aclose()

    async def _submit(self, listener: Participant, said: SaidMessage, *, is_missed: bool) -> bool:
        assert self._flow is not None
        at = listener.conversation
        inbound = Inbound(
            conversation=at,
            session_key=listener.session_key,
            message_id=MessageId(said.message_id),
            person=said.person,
            text=said.text,
        )
        try:
            receipt = await self._flow.gate.submit(inbound)
        except FairleadError as refusal:
            if refusal.code in LEAVES_NOTHING:
                return False
            if is_missed and refusal.code is Code.E_QUEUE_FULL and not self._is_unplugged:
                self._world.accuse(f"message {said.message_id}, which was missed, was refused with {refusal.code}")
            self.refuse(at, MessageId(said.message_id))
            self._world.promise(Promise(at.address, said.message_id, refusal=refusal.code))
            return True
        self._world.promise(Promise(at.address, said.message_id, receipt.job_id))
        return True

    async def recheck(self, job: JobView) -> None:
        try:
            while self._world.is_away:  # noqa: ASYNC110 - see above
                await asyncio.sleep(1.0)
            await asyncio.sleep(self._latency())
        finally:
            self._world.unchecked.discard(job.job_id)
