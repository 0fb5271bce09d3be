"""The numbers that `decide` may not exceed and the people it may serve. The caller takes them from the settings."""

from typing import Literal

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """`runtimes` are the names of the available agents, the preferred one first. `own_variables` are prefixes of
    Fairlead's own variables, which no agent may see."""

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
    schedules_for: Literal["owner", "allowed"] = "owner"
