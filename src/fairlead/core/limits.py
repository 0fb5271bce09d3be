"""The numbers that `decide` may not exceed and the people it may serve. The caller takes them from the settings."""

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    agent_id: str = "fairlead"
    allowed_people: tuple[str, ...] = ()
    runtimes: tuple[str, ...] = ("echo",)
    max_queue_per_session: int = 20
    global_max_running: int = 2
    max_waiting: int = 8
    max_message_bytes: int = 4 * 1024 * 1024
    max_result_excerpt_chars: int = 400
    max_attachments: int = 10
    question_timeout_sec: float = 600.0
    delivery_patience_sec: float = 7 * 24 * 3600.0
    max_delivery_attempts: int = 8
