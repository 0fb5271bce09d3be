"""Sessions that were started for a task: what was asked for, and where the completion goes. Pure; decides nothing."""

from typing import Final, Literal

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.ids import SessionKeyText

SpawnReturn = Literal["thread", "person", "session"]
"""Where the completion of the task goes: into the session's own thread and nowhere else; to the conversation of the
person who asked; or, as a message, into the session whose agent asked."""

NO_THREAD_SPACE: Final = "spawn"
"""The space in the key of a spawned session that has no thread. No channel has a space of this name."""


class SpawnOrder(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """A task for a session of its own. `conversation` is where it was asked for, and `parent_session_key` the session
    that is there, or would be; `generation` is that session's. `depth` counts the sessions above. With
    `by_agent`, that session's agent asked, on behalf of `person`. `foreign`: it was reading words of others.
    `fail_closed` and `binding_ttl_ms` are for the thread that the session gets, where it gets one."""

    parent_session_key: SessionKeyText
    conversation: ConversationRef
    person: str
    task: str
    depth: int = 1
    generation: int = 0
    by_agent: bool = False
    foreign: bool = False
    fail_closed: bool = False
    binding_ttl_ms: int | None = None


class SpawnedSession(msgspec.Struct, omit_defaults=True, gc=False, kw_only=True):
    """What the state keeps of a spawned session beside the session itself. The task is in its first job."""

    session_key: SessionKeyText
    asked_by: str
    parent_session_key: SessionKeyText
    conversation: ConversationRef
    returns: SpawnReturn
    depth: int = 1
    generation: int = 0
    by_agent: bool = False
    fail_closed: bool = False
