"""The numbers that `decide` may not exceed and the people it may serve. The caller takes them from the settings."""

from typing import Literal

import msgspec

from fairlead.core.days import Days


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """`runtimes` are the names of the available agents, the preferred one first. `own_variables` are prefixes of
    Fairlead's own variables, which no agent may see. `days` are those of the owner, by which budgets count."""

    agent_id: str = "fairlead"
    allowed_people: tuple[str, ...] = ()
    runtimes: tuple[str, ...] = ("echo",)
    own_variables: tuple[str, ...] = ("FAIRLEAD_",)
    max_queue_per_session: int = 20
    global_max_running: int = 2
    max_waiting: int = 8
    max_message_bytes: int = 4 * 1024 * 1024
    max_result_excerpt_chars: int = 400
    max_attachments: int = 10
    question_timeout_sec: float = 600
    delivery_patience_days: int = 7
    spawn_threads: bool = False
    spawn_fail_closed: bool = True
    spawn_binding_ttl_sec: float = 0
    """0: the thread of a spawned session is bound for good."""
    spawn_max_depth: int = 3
    spawn_max_children: int = 8
    spawn_max_in_a_row: int = 50
    """By agents, in one tree of sessions, since a person last spoke there."""
    hook_events_per_minute: int = 60
    days: Days = Days()
    worktrees: str = ""
    """The directory that the worktrees of sessions are made in; without one, none can be made."""
    schedules_for: Literal["owner", "allowed"] = "owner"
