"""What the agent remembers of a session, in the process and on disk."""

import contextlib
import json
import os
from collections.abc import Callable
from typing import Any

from .switches import Switches
from .wire import Payload, Refused

LEVELS = ("low", "medium", "high")
UPDATED_AT = "2026-11-15T19:06:43.163Z"


class Session:
    """`history` holds the updates that session/load sends again: words, thoughts, tools and plans."""

    def __init__(self, session_id: str, cwd: str) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.title = ""
        self.model = ""
        self.mode = ""
        self.thought_level = LEVELS[1]
        self.is_fast = False
        self.allows_all = "off"
        self.facts: dict[str, str] = {}
        self.history: list[Payload] = []
        self.spent: list[int] = [0, 0, 0]
        self.always: list[str] = []  # what was allowed for good
        self.turns: list[Any] = []
        self.held_responses: list[Callable[[], None]] = []

    def to_json(self) -> Payload:
        return {name: value for name, value in vars(self).items() if name not in {"turns", "held_responses"}}

    @classmethod
    def from_json(cls, data: Payload) -> "Session":
        session = cls(data["session_id"], data["cwd"])
        vars(session).update(data)
        return session

    def info(self) -> Payload:
        about: Payload = {"sessionId": self.session_id, "cwd": self.cwd, "updatedAt": UPDATED_AT}
        return about | ({"title": self.title} if self.title else {})


class SessionStore:
    """One file per session. With `lost_when_killed` the files are written when stdin ends, and not before."""

    def __init__(self, switches: Switches) -> None:
        self._switches = switches
        home = os.environ.get("HOME") or os.getcwd()
        self._directory = switches.state or os.path.join(home, ".scripted-acp")
        self.open: dict[str, Session] = {}

    def begin(self, cwd: str) -> Session:
        session = Session(self._new_id(), cwd)
        session.model, session.mode = self._switches.items_of("models")[0], self._switches.items_of("modes")[0]
        self.open[session.session_id] = session
        self.save(session)
        return session

    def fork(self, session_id: str, cwd: str) -> Session:
        copied = self.to_load(session_id).to_json() | {"session_id": self._new_id(), "cwd": cwd}
        session = Session.from_json(json.loads(json.dumps(copied)))
        self.open[session.session_id] = session
        self.save(session)
        return session

    def get(self, session_id: str) -> Session:
        if session_id not in self.open:
            raise self._gone(session_id)
        return self.open[session_id]

    def to_load(self, session_id: str) -> Session:
        """A session that is open in this process, or one that an earlier process has left on disk."""
        if session_id not in self.open:
            data = self._read(session_id)
            if data is None:
                raise self._gone(session_id)
            self.open[session_id] = Session.from_json(data)
            if self._switches.usage_when_loaded == "zero":
                self.open[session_id].spent = [0, 0, 0]
        return self.open[session_id]

    def all(self) -> list[Session]:
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(self._directory)):
                self.to_load(name.removesuffix(".json"))
        return list(self.open.values())

    def close(self, session_id: str) -> Session:
        session = self.get(session_id)
        self.save(session)
        return self.open.pop(session_id)

    def save(self, session: Session) -> None:
        if not self._switches.lost_when_killed:
            self._write(session)

    def save_all(self) -> None:
        for session in list(self.open.values()):
            self._write(session)

    def _new_id(self) -> str:
        """Shaped as a UUID; the module for those would have to be imported at every start."""
        digits = os.urandom(16).hex()
        groups = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        return self._switches.session_prefix + "-".join(groups)

    def _gone(self, session_id: str) -> Refused:
        code, _, message = str(self._switches.gone).partition(" ")
        return Refused(int(code), message.format(session=session_id), {"sessionId": session_id})

    def _path(self, session_id: str) -> str:
        return os.path.join(self._directory, f"{os.path.basename(session_id)}.json")

    def _read(self, session_id: str) -> Payload | None:
        try:
            with open(self._path(session_id), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def _write(self, session: Session) -> None:
        os.makedirs(self._directory, exist_ok=True)
        path = self._path(session.session_id)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(session.to_json(), file)
        os.replace(f"{path}.new", path)
