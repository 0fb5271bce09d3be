"""Records of agents' own sessions that live in memory, for tests: sessions that a person begins and continues in a
pretended terminal."""

from fairlead.core.agent_sessions import MOST_EXCHANGES, Exchange, ResumeCommand, SessionWriter, StoredSession
from fairlead.core.ids import ResumeKey


class PretendedRecords:
    """ports.SessionRecords. `writers` are the processes that have a session open, by its key."""

    are_files = True

    def __init__(self) -> None:
        self.sessions: dict[tuple[str, str], list[Exchange]] = {}
        self.writers: dict[str, tuple[SessionWriter, ...]] = {}
        self.looked_at: list[str] = []

    def say_in_terminal(self, directory: str, key: str, prompt: str, answer: str) -> None:
        exchanges = self.sessions.setdefault((directory, key), [])
        exchanges.append(Exchange(prompt, answer, f"2026-11-17T12:00:{len(exchanges):02d}.000Z"))

    async def list_sessions(self, directory: str) -> tuple[StoredSession, ...]:
        self.looked_at.append(directory)
        found = [self._describe(key, said) for (where, key), said in self.sessions.items() if where == directory]
        return tuple(sorted(found, key=lambda session: session.changed_at, reverse=True))

    async def read_session(self, directory: str, key: ResumeKey, since: str = "") -> StoredSession | None:
        said = self.sessions.get((directory, key))
        return None if said is None else self._describe(key, said, int(since or "0"))

    async def find_writers(self, directory: str, key: ResumeKey) -> tuple[SessionWriter, ...]:  # noqa: ARG002 - the port's names
        return self.writers.get(key, ())

    async def resume_command(self, directory: str, key: ResumeKey) -> ResumeCommand | None:
        return ResumeCommand(directory, ("echo-agent", "--resume", key))

    def _describe(self, key: str, said: list[Exchange], since: int = 0) -> StoredSession:
        return StoredSession(
            key=ResumeKey(key),
            first_words=said[0].prompt,
            began_at=said[0].at,
            changed_at=said[-1].at,
            exchanges=len(said) - since,
            latest=tuple(said[since:][-MOST_EXCHANGES:]),
            position=str(len(said)),
        )
