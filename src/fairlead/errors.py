"""Every error code of Fairlead, as one documented tree. Knows no channel, no language and no log.

    FairleadError
    ├── StrangerError   the caller is not allowed                    logged WARNING, answered as little as possible
    ├── InputError      the request is not valid                     logged INFO, answered with the concrete mistake
    ├── StateError      it is not possible now or here               logged WARNING, answered with what to do first
    ├── AgentError      the agent, its process or its output         logged ERROR, ends one job
    ├── ChannelError    the connection to the person                 logged ERROR, delays or ends one delivery
    └── InternalError   Fairlead itself: disk, shutdown, a bug       logged ERROR with a stack

Which class a code belongs to is written once, in `CODES`; `error(code, …)` builds the right class.
"""

from enum import StrEnum
from typing import Final


class Code(StrEnum):
    """Names that people see, search for and script against: once published, never renamed."""

    E_OWNER_ONLY = "E_OWNER_ONLY"
    E_NOT_IN_MANAGED_THREAD = "E_NOT_IN_MANAGED_THREAD"
    E_PROJECT_NOT_FOUND = "E_PROJECT_NOT_FOUND"
    E_PROJECT_EXISTS = "E_PROJECT_EXISTS"
    E_PROJECT_IN_USE = "E_PROJECT_IN_USE"
    E_INVALID_PATH = "E_INVALID_PATH"
    E_INVALID_TOOLSET = "E_INVALID_TOOLSET"
    E_TOOL_NOT_ENABLED = "E_TOOL_NOT_ENABLED"
    E_SESSION_NOT_FOUND = "E_SESSION_NOT_FOUND"
    E_THREAD_ACCESS_FAILED = "E_THREAD_ACCESS_FAILED"
    E_QUEUE_FULL = "E_QUEUE_FULL"
    E_JOB_NOT_RETRYABLE = "E_JOB_NOT_RETRYABLE"
    E_CLI_TIMEOUT = "E_CLI_TIMEOUT"
    E_CLI_EXIT_NONZERO = "E_CLI_EXIT_NONZERO"
    E_ADAPTER_PARSE = "E_ADAPTER_PARSE"
    E_ADAPTER_MISSING_RESULT = "E_ADAPTER_MISSING_RESULT"
    E_ADAPTER_SESSION_KEY_MISSING = "E_ADAPTER_SESSION_KEY_MISSING"
    E_DISCORD_RATE_LIMIT = "E_DISCORD_RATE_LIMIT"
    E_INVALID_NAME = "E_INVALID_NAME"
    E_INVALID_ARGS = "E_INVALID_ARGS"
    E_INVALID_USER = "E_INVALID_USER"
    E_EMPTY_MESSAGE = "E_EMPTY_MESSAGE"
    E_MESSAGE_TOO_LARGE = "E_MESSAGE_TOO_LARGE"
    E_IDEMPOTENCY_MISMATCH = "E_IDEMPOTENCY_MISMATCH"
    E_NOT_IN_TEXT_CHANNEL = "E_NOT_IN_TEXT_CHANNEL"
    E_PROJECT_NOT_SELECTED = "E_PROJECT_NOT_SELECTED"
    E_JOB_NOT_FOUND = "E_JOB_NOT_FOUND"
    E_MESSAGE_NOT_FOUND = "E_MESSAGE_NOT_FOUND"
    E_NOTHING_TO_CANCEL = "E_NOTHING_TO_CANCEL"
    E_QUESTION_CLOSED = "E_QUESTION_CLOSED"
    E_SESSION_STATE = "E_SESSION_STATE"
    E_NO_ACTIVE_SESSION = "E_NO_ACTIVE_SESSION"
    E_MODEL_UNAVAILABLE = "E_MODEL_UNAVAILABLE"
    E_MODE_UNAVAILABLE = "E_MODE_UNAVAILABLE"
    E_AGENT_NOT_FOUND = "E_AGENT_NOT_FOUND"
    E_RULE_NOT_FOUND = "E_RULE_NOT_FOUND"
    E_HOOK_NOT_FOUND = "E_HOOK_NOT_FOUND"
    E_HOOK_EXISTS = "E_HOOK_EXISTS"
    E_TOO_MANY_EVENTS = "E_TOO_MANY_EVENTS"
    E_SCHEDULE_NOT_FOUND = "E_SCHEDULE_NOT_FOUND"
    E_SCHEDULE_TIME = "E_SCHEDULE_TIME"
    E_SCHEDULE_BUSY = "E_SCHEDULE_BUSY"
    E_SCHEDULE_CHECK = "E_SCHEDULE_CHECK"
    E_AGENT_IN_USE = "E_AGENT_IN_USE"
    E_AGENT_INSTALL = "E_AGENT_INSTALL"
    E_AGENT_DIGEST = "E_AGENT_DIGEST"
    E_CLI_NOT_FOUND = "E_CLI_NOT_FOUND"
    E_CLI_NOT_LOGGED_IN = "E_CLI_NOT_LOGGED_IN"
    E_RESUME_GONE = "E_RESUME_GONE"
    E_OUTPUT_TOO_LONG = "E_OUTPUT_TOO_LONG"
    E_AGENT_ERROR = "E_AGENT_ERROR"
    E_AGENT_INTERRUPTED = "E_AGENT_INTERRUPTED"
    E_CONTEXT_FULL = "E_CONTEXT_FULL"
    E_BUDGET_SPENT = "E_BUDGET_SPENT"
    E_PERMISSION_TIER = "E_PERMISSION_TIER"
    E_ACP_CONNECTION = "E_ACP_CONNECTION"
    E_ACP_TIMEOUT = "E_ACP_TIMEOUT"
    E_RUNTIME_HUNG = "E_RUNTIME_HUNG"
    E_ATTACHMENT_GONE = "E_ATTACHMENT_GONE"
    E_UNDELIVERABLE = "E_UNDELIVERABLE"
    E_UNKNOWN_AFTER_CRASH = "E_UNKNOWN_AFTER_CRASH"
    E_SHUTDOWN = "E_SHUTDOWN"
    E_DISK_FULL = "E_DISK_FULL"
    E_JOURNAL_BROKEN = "E_JOURNAL_BROKEN"
    E_STATE_LOCKED = "E_STATE_LOCKED"
    E_CONFIG = "E_CONFIG"
    E_UNAUTHORIZED = "E_UNAUTHORIZED"
    E_AGENT_CALLER = "E_AGENT_CALLER"
    E_SPAWN_DEPTH = "E_SPAWN_DEPTH"
    E_SPAWN_LIMIT = "E_SPAWN_LIMIT"
    E_SPAWN_CANCELLED = "E_SPAWN_CANCELLED"
    E_SESSION_IN_USE = "E_SESSION_IN_USE"
    E_SESSION_HANDED_OFF = "E_SESSION_HANDED_OFF"
    E_FORK_UNAVAILABLE = "E_FORK_UNAVAILABLE"
    E_NOT_STEERABLE = "E_NOT_STEERABLE"
    E_STEER_UNKNOWN = "E_STEER_UNKNOWN"
    E_WORKTREE_UNAVAILABLE = "E_WORKTREE_UNAVAILABLE"
    E_WORKTREE_GONE = "E_WORKTREE_GONE"
    E_WORKTREE_BUSY = "E_WORKTREE_BUSY"
    E_NO_WORKTREE = "E_NO_WORKTREE"
    E_UNCOMMITTED_WORK = "E_UNCOMMITTED_WORK"
    E_WORK_WOULD_BE_LOST = "E_WORK_WOULD_BE_LOST"
    E_MERGE_CONFLICT = "E_MERGE_CONFLICT"
    E_MERGE_BLOCKED = "E_MERGE_BLOCKED"
    E_INTERNAL = "E_INTERNAL"
    E_SNAPSHOT = "E_SNAPSHOT"
    E_SNAPSHOT_GONE = "E_SNAPSHOT_GONE"
    E_NOTHING_TO_UNDO = "E_NOTHING_TO_UNDO"
    E_UNDO_CHANGED = "E_UNDO_CHANGED"
    E_UNDO_BUSY = "E_UNDO_BUSY"
    E_MACHINE_AWAY = "E_MACHINE_AWAY"
    E_MACHINE_NOT_FOUND = "E_MACHINE_NOT_FOUND"
    E_MACHINE_REMOVED = "E_MACHINE_REMOVED"
    E_MACHINE_IN_USE = "E_MACHINE_IN_USE"
    E_MACHINES_TAKEN = "E_MACHINES_TAKEN"
    E_RUNNER_OLD = "E_RUNNER_OLD"
    E_RUNNER_SUPERSEDED = "E_RUNNER_SUPERSEDED"


class Kind(StrEnum):
    STRANGER = "stranger"
    INPUT = "input"
    STATE = "state"
    AGENT = "agent"
    CHANNEL = "channel"
    INTERNAL = "internal"


CODES: Final[dict[Code, Kind]] = {
    Code.E_OWNER_ONLY: Kind.STRANGER,
    Code.E_UNAUTHORIZED: Kind.STRANGER,
    Code.E_AGENT_CALLER: Kind.STRANGER,
    Code.E_NOT_IN_MANAGED_THREAD: Kind.STATE,
    Code.E_PROJECT_NOT_FOUND: Kind.INPUT,
    Code.E_PROJECT_EXISTS: Kind.INPUT,
    Code.E_PROJECT_IN_USE: Kind.STATE,
    Code.E_INVALID_PATH: Kind.INPUT,
    Code.E_INVALID_TOOLSET: Kind.INPUT,
    Code.E_TOOL_NOT_ENABLED: Kind.INPUT,
    Code.E_SESSION_NOT_FOUND: Kind.INPUT,
    Code.E_THREAD_ACCESS_FAILED: Kind.CHANNEL,
    Code.E_QUEUE_FULL: Kind.STATE,
    Code.E_JOB_NOT_RETRYABLE: Kind.STATE,
    Code.E_CLI_TIMEOUT: Kind.AGENT,
    Code.E_CLI_EXIT_NONZERO: Kind.AGENT,
    Code.E_CLI_NOT_FOUND: Kind.AGENT,
    Code.E_CLI_NOT_LOGGED_IN: Kind.AGENT,
    Code.E_ADAPTER_PARSE: Kind.AGENT,
    Code.E_ADAPTER_MISSING_RESULT: Kind.AGENT,
    Code.E_ADAPTER_SESSION_KEY_MISSING: Kind.AGENT,
    Code.E_RESUME_GONE: Kind.AGENT,
    Code.E_OUTPUT_TOO_LONG: Kind.AGENT,
    Code.E_AGENT_ERROR: Kind.AGENT,
    Code.E_AGENT_INTERRUPTED: Kind.AGENT,
    Code.E_CONTEXT_FULL: Kind.AGENT,
    Code.E_BUDGET_SPENT: Kind.AGENT,
    Code.E_PERMISSION_TIER: Kind.AGENT,
    Code.E_RUNTIME_HUNG: Kind.AGENT,
    Code.E_ACP_CONNECTION: Kind.AGENT,
    Code.E_ACP_TIMEOUT: Kind.AGENT,
    Code.E_MODEL_UNAVAILABLE: Kind.INPUT,
    Code.E_MODE_UNAVAILABLE: Kind.INPUT,
    Code.E_AGENT_NOT_FOUND: Kind.INPUT,
    Code.E_RULE_NOT_FOUND: Kind.INPUT,
    Code.E_HOOK_NOT_FOUND: Kind.INPUT,
    Code.E_HOOK_EXISTS: Kind.INPUT,
    Code.E_TOO_MANY_EVENTS: Kind.STATE,
    Code.E_SCHEDULE_NOT_FOUND: Kind.INPUT,
    Code.E_SCHEDULE_TIME: Kind.INPUT,
    Code.E_SCHEDULE_BUSY: Kind.STATE,
    Code.E_SCHEDULE_CHECK: Kind.STATE,
    Code.E_AGENT_IN_USE: Kind.STATE,
    Code.E_AGENT_INSTALL: Kind.STATE,
    Code.E_AGENT_DIGEST: Kind.STATE,
    Code.E_ATTACHMENT_GONE: Kind.AGENT,
    Code.E_UNKNOWN_AFTER_CRASH: Kind.AGENT,
    Code.E_DISCORD_RATE_LIMIT: Kind.CHANNEL,
    Code.E_UNDELIVERABLE: Kind.CHANNEL,
    Code.E_INVALID_NAME: Kind.INPUT,
    Code.E_INVALID_ARGS: Kind.INPUT,
    Code.E_INVALID_USER: Kind.INPUT,
    Code.E_EMPTY_MESSAGE: Kind.INPUT,
    Code.E_MESSAGE_TOO_LARGE: Kind.INPUT,
    Code.E_IDEMPOTENCY_MISMATCH: Kind.INPUT,
    Code.E_NOT_IN_TEXT_CHANNEL: Kind.STATE,
    Code.E_PROJECT_NOT_SELECTED: Kind.STATE,
    Code.E_JOB_NOT_FOUND: Kind.INPUT,
    Code.E_MESSAGE_NOT_FOUND: Kind.INPUT,
    Code.E_NOTHING_TO_CANCEL: Kind.STATE,
    Code.E_QUESTION_CLOSED: Kind.STATE,
    Code.E_SESSION_STATE: Kind.STATE,
    Code.E_NO_ACTIVE_SESSION: Kind.STATE,
    Code.E_SPAWN_DEPTH: Kind.STATE,
    Code.E_SPAWN_LIMIT: Kind.STATE,
    Code.E_SPAWN_CANCELLED: Kind.STATE,
    Code.E_SESSION_IN_USE: Kind.STATE,
    Code.E_SESSION_HANDED_OFF: Kind.STATE,
    Code.E_FORK_UNAVAILABLE: Kind.STATE,
    Code.E_NOT_STEERABLE: Kind.STATE,
    Code.E_STEER_UNKNOWN: Kind.AGENT,
    Code.E_WORKTREE_UNAVAILABLE: Kind.STATE,
    Code.E_WORKTREE_GONE: Kind.STATE,
    Code.E_WORKTREE_BUSY: Kind.STATE,
    Code.E_NO_WORKTREE: Kind.STATE,
    Code.E_UNCOMMITTED_WORK: Kind.STATE,
    Code.E_WORK_WOULD_BE_LOST: Kind.STATE,
    Code.E_MERGE_CONFLICT: Kind.STATE,
    Code.E_MERGE_BLOCKED: Kind.STATE,
    Code.E_SHUTDOWN: Kind.INTERNAL,
    Code.E_DISK_FULL: Kind.INTERNAL,
    Code.E_JOURNAL_BROKEN: Kind.INTERNAL,
    Code.E_STATE_LOCKED: Kind.INTERNAL,
    Code.E_CONFIG: Kind.INTERNAL,
    Code.E_INTERNAL: Kind.INTERNAL,
    Code.E_SNAPSHOT: Kind.STATE,
    Code.E_SNAPSHOT_GONE: Kind.STATE,
    Code.E_NOTHING_TO_UNDO: Kind.STATE,
    Code.E_UNDO_CHANGED: Kind.STATE,
    Code.E_UNDO_BUSY: Kind.STATE,
    Code.E_MACHINE_AWAY: Kind.STATE,
    Code.E_MACHINE_NOT_FOUND: Kind.INPUT,
    Code.E_MACHINE_REMOVED: Kind.STATE,
    Code.E_MACHINE_IN_USE: Kind.STATE,
    Code.E_MACHINES_TAKEN: Kind.STATE,
    Code.E_RUNNER_OLD: Kind.STATE,
    Code.E_RUNNER_SUPERSEDED: Kind.STATE,
}
"""Whose fault each code is. What it means for people stands in `render.words`, in four languages."""


class FairleadError(Exception):
    """Carries its code, and what is special to the case: `message` and `next_step` are empty where the sentences of
    the code say all. `render.errors` makes the text that people read."""

    def __init__(self, code: Code, message: str = "", *, next_step: str = "") -> None:
        self.code = code
        self.kind = CODES[code]
        self.message = message
        self.next_step = next_step
        self.is_logged = False
        super().__init__(f"{code}: {message}" if message else str(code))


class StrangerError(FairleadError):
    pass


class InputError(FairleadError):
    pass


class StateError(FairleadError):
    pass


class AgentError(FairleadError):
    pass


class ChannelError(FairleadError):
    pass


class InternalError(FairleadError):
    pass


_CLASS_OF: Final[dict[Kind, type[FairleadError]]] = {
    Kind.STRANGER: StrangerError,
    Kind.INPUT: InputError,
    Kind.STATE: StateError,
    Kind.AGENT: AgentError,
    Kind.CHANNEL: ChannelError,
    Kind.INTERNAL: InternalError,
}


def error(code: Code, message: str = "", *, next_step: str = "") -> FairleadError:
    """The error of the class that `code` belongs to."""
    return _CLASS_OF[CODES[code]](code, message, next_step=next_step)
