"""The websocket gateway: HELLO, IDENTIFY, RESUME, heartbeats, events by intent.

Knows the world only by its events.
"""

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import WSMsgType, web

from . import wire
from .board import PATIENCE_SEC
from .compression import STREAMS, Squeeze
from .sockets import abort
from .world import ALWAYS, MESSAGE_CONTENT, Event, World

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, REQUEST_MEMBERS, INVALID, HELLO, ACK = (
    0,
    1,
    2,
    6,
    7,
    8,
    9,
    10,
    11,
)
UNKNOWN_OPCODE, DECODE_ERROR, NOT_AUTHENTICATED, AUTHENTICATION_FAILED = 4001, 4002, 4003, 4004
INVALID_SEQ, DISALLOWED_INTENTS = 4007, 4014


class Identify(msgspec.Struct, frozen=True):
    """One IDENTIFY or RESUME as it came, with what was made of it."""

    at: float
    token: str
    intents: int
    compression: str | None
    outcome: str


class Session:
    """What outlives a socket: the sequence, the events for a replay, the intents."""

    def __init__(self, intents: int) -> None:
        self.id = secrets.token_hex(16)
        self.intents = intents
        self.seq = 0
        self.sent: list[dict[str, Any]] = []
        self.line: Line | None = None
        self.left_at: float | None = None

    def dispatch(self, name: str, data: Any) -> None:
        self.seq += 1
        frame = {"op": DISPATCH, "t": name, "s": self.seq, "d": data}
        self.sent.append(frame)
        if self.line:
            self.line.put(frame)


class Line:
    """One open websocket: frames go out in order, through a queue that its own writer empties."""

    def __init__(self, socket: web.WebSocketResponse, request: web.Request, squeeze: Squeeze | None) -> None:
        self.socket = socket
        self.request = request
        self.compression = request.query.get("compress")
        self.session: Session | None = None
        self._squeeze = squeeze
        self.wrote_at: dict[int, float] = {}
        self._frames: asyncio.Queue[dict[str, Any] | int] = asyncio.Queue()

    def put(self, frame: dict[str, Any]) -> None:
        self._frames.put_nowait(frame)

    def close(self, code: int) -> None:
        """After all that was put before."""
        self._frames.put_nowait(code)

    def drop(self) -> None:
        abort(self.request)

    async def write(self) -> None:
        while True:
            frame = await self._frames.get()
            if isinstance(frame, int):
                # Only the frame: the client answers it, and so ends the reading. `close` would hang up before that.
                await self.socket.send_frame(frame.to_bytes(2, "big"), WSMsgType.CLOSE)
                return
            text = json.dumps(frame, separators=(",", ":"))
            data = self._squeeze(text) if self._squeeze else None
            if "s" in frame:
                # Before the bytes leave: who receives them may run before this program does again.
                self.wrote_at[frame["s"]] = time.time()
            if data is None:
                await self.socket.send_str(text)
            else:
                await self.socket.send_bytes(data)


class Gateway:
    """Tests steer it with `reconnect`, `invalidate`, `close`, `drop`, `acks`, and wait with `ready`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.heartbeat_interval_ms = 41250
        self.acks = True
        self.refuse_sockets = False
        self.buffer = 1000
        self.late_guilds: set[int] = set()
        self.session_life_s = 180.0
        self.check: Callable[[Event], None] = lambda _event: None
        self.identifies: list[Identify] = []
        self.resumes: list[Identify] = []
        self.heartbeats = 0
        self.sessions: dict[str, Session] = {}
        self.lines: list[Line] = []
        self.url = ""
        world.publish = self.publish

    # what tests do

    def connected(self) -> list[Session]:
        return [session for session in self.sessions.values() if session.line]

    async def ready(self, *, identifies: int = 1, timeout: float = PATIENCE_SEC) -> None:
        """Until that many IDENTIFYs were accepted and a session is connected."""
        await self._world.board.wait_for(
            lambda: self.connected() and self._accepted(self.identifies) >= identifies,
            timeout=timeout, what=f"{identifies} accepted IDENTIFY",
        )  # fmt: skip

    async def resumed(self, *, times: int = 1, timeout: float = PATIENCE_SEC) -> None:
        await self._world.board.wait_for(
            lambda: self.connected() and self._accepted(self.resumes) >= times,
            timeout=timeout, what=f"{times} accepted RESUME",
        )  # fmt: skip

    async def disconnected(self, *, timeout: float = PATIENCE_SEC) -> None:
        await self._world.board.wait_for(lambda: not self.lines, timeout=timeout, what="the end of all sockets")

    def reconnect(self) -> None:
        """op 7"""
        self._tell_all({"op": RECONNECT, "d": None})

    def invalidate(self, *, resumable: bool) -> None:
        """op 9; a session that cannot be resumed is forgotten, with the events it would have replayed."""
        self._tell_all({"op": INVALID, "d": resumable})
        if not resumable:
            self.forget_sessions()

    def close(self, code: int) -> None:
        for line in list(self.lines):
            line.close(code)

    def drop(self) -> None:
        """The TCP connections end without a word."""
        for line in list(self.lines):
            self._hang_up(line)
            line.drop()

    def forget_sessions(self) -> None:
        """A later RESUME is answered with op 9 false."""
        self.sessions.clear()

    def publish(self, event: Event) -> None:
        self.check(event)
        for session in self.sessions.values():
            if event.intent == ALWAYS or session.intents & event.intent:
                session.dispatch(event.name, blanked(event, session.intents, self._world.bot.id))
                del session.sent[: -self.buffer]

    # the protocol

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if self.refuse_sockets:
            return web.Response(status=503)
        stream = STREAMS.get(request.query.get("compress", ""))
        socket = web.WebSocketResponse(max_msg_size=4096, autoping=True)
        await socket.prepare(request)
        line = Line(socket, request, stream() if stream else None)
        self.lines.append(line)
        line.put({"op": HELLO, "d": {"heartbeat_interval": self.heartbeat_interval_ms}})
        writer = asyncio.create_task(line.write())
        try:
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    self._hear(line, message.data)
        finally:
            self._hang_up(line)
            writer.cancel()
            # a writer may already have failed on a dropped connection: that is how sockets end here
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await writer
        return socket

    def _hear(self, line: Line, text: str) -> None:
        try:
            frame = json.loads(text)
            opcode, data = frame["op"], frame.get("d")
        except (ValueError, KeyError, TypeError):
            line.close(DECODE_ERROR)
            return
        if opcode == HEARTBEAT:
            self.heartbeats += 1
            if self.acks:
                line.put({"op": ACK})
            self._world.board.changed()
        elif opcode == IDENTIFY:
            self._identify(line, data)
        elif opcode == RESUME:
            self._resume(line, data)
        elif line.session is None:
            line.close(NOT_AUTHENTICATED)
        elif opcode == REQUEST_MEMBERS:
            self._send_members(line.session, data)
        elif opcode not in (3, 4):
            line.close(UNKNOWN_OPCODE)

    def _identify(self, line: Line, data: dict[str, Any]) -> None:
        token, intents = data["token"].removeprefix("Bot "), data["intents"]
        if token != self._world.token:
            code = AUTHENTICATION_FAILED
        elif intents & self._world.application.forbidden_intents:
            code = DISALLOWED_INTENTS
        else:
            code = 0
        outcome = str(code) if code else "ready"
        self.identifies.append(Identify(self._world.clock.now(), token, intents, line.compression, outcome))
        if code:
            line.close(code)
        else:
            self._begin(line, Session(intents))
        self._world.board.changed()

    def _begin(self, line: Line, session: Session) -> None:
        self.sessions[session.id] = session
        self._join(line, session)
        world = self._world
        session.dispatch("READY", {
            "v": 10, "user": wire.own_user_json(world.bot), "session_id": session.id,
            "guilds": [{"id": str(guild_id), "unavailable": True} for guild_id in world.guilds],
            "resume_gateway_url": self.url, "private_channels": [], "relationships": [],
            "application": {"id": str(world.application.id), "flags": world.application.flags},
        })  # fmt: skip
        for guild in world.guilds.values():
            if guild.id in self.late_guilds:
                continue  # as in an outage: Discord sends it later, and messages from there may come before
            session.dispatch("GUILD_CREATE", world.guild_event(guild))

    def _resume(self, line: Line, data: dict[str, Any]) -> None:
        token, session = data["token"].removeprefix("Bot "), self.sessions.get(data["session_id"])
        oldest = session.sent[0]["s"] if session and session.sent else 0
        if session and session.left_at and self._world.clock.now() - session.left_at > self.session_life_s:
            session = None
        if token != self._world.token:
            outcome = str(AUTHENTICATION_FAILED)
            line.close(AUTHENTICATION_FAILED)
        elif session is None or data["seq"] + 1 < oldest:
            outcome = "op9 false"
            line.put({"op": INVALID, "d": False})
        elif data["seq"] > session.seq:
            outcome = str(INVALID_SEQ)
            line.close(INVALID_SEQ)
        else:
            outcome = "ready"
            self._replay(line, session, data["seq"])
        intents = session.intents if session else 0
        self.resumes.append(Identify(self._world.clock.now(), token, intents, line.compression, outcome))
        self._world.board.changed()

    def _replay(self, line: Line, session: Session, seen: int) -> None:
        missed = [frame for frame in session.sent if frame["s"] > seen]
        self._join(line, session)
        for frame in missed:
            line.put(frame)
        session.dispatch("RESUMED", {"_trace": []})

    def _join(self, line: Line, session: Session) -> None:
        if session.line:
            session.line.session = None
        session.line, line.session, session.left_at = line, session, None

    def _hang_up(self, line: Line) -> None:
        if line.session and line.session.line is line:
            line.session.line, line.session.left_at = None, self._world.clock.now()
        if line in self.lines:
            self.lines.remove(line)
        self._world.board.changed()

    def _send_members(self, session: Session, data: dict[str, Any]) -> None:
        guild = self._world.guild(data["guild_id"])
        members = [wire.member_json(member, guild) for member in guild.members.values()]
        session.dispatch("GUILD_MEMBERS_CHUNK", {
            "guild_id": str(guild.id), "members": members, "chunk_index": 0, "chunk_count": 1,
            "not_found": [], "nonce": data.get("nonce"),
        })  # fmt: skip

    def _tell_all(self, frame: dict[str, Any]) -> None:
        for line in self.lines:
            line.put(frame)

    @staticmethod
    def _accepted(tries: list[Identify]) -> int:
        return sum(each.outcome == "ready" for each in tries)


def blanked(event: Event, intents: int, bot_id: int) -> dict[str, Any]:
    """Without the message-content intent a bot reads only its own messages, DMs and those that mention it."""
    message = event.message
    if message is None or intents & MESSAGE_CONTENT or "guild_id" not in event.data:
        return event.data
    if message.author.id == bot_id or any(user.id == bot_id for user in message.mentions):
        return event.data
    return event.data | {"content": "", "embeds": [], "attachments": [], "components": []}
