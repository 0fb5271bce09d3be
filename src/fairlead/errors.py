"""Every error code of Fairlead, as one documented tree. Knows no channel, no language and no log.

    FairleadError
    ├── StrangerError   somebody who is not allowed                  logged WARNING, answered as little as possible
    ├── InputError      what was asked for cannot be                 logged INFO, answered with the concrete mistake
    ├── StateError      it can be, but not now or not here           logged WARNING, answered with the way there
    ├── AgentError      the agent, its process or its output         logged ERROR, ends one job
    ├── ChannelError    the way to the person                        logged ERROR, delays or ends one delivery
    └── InternalError   Fairlead itself: disk, shutdown, a bug       logged ERROR with a stack

Which class a code belongs to is written once, in `CODES`; `error(code, …)` builds the right class.
"""

from enum import StrEnum
from typing import Final, NamedTuple


class Code(StrEnum):
    """Names that people see, search for and script against: once published, never renamed."""

    E_OWNER_ONLY = "E_OWNER_ONLY"
    E_NOT_IN_MANAGED_THREAD = "E_NOT_IN_MANAGED_THREAD"
    E_PROJECT_NOT_FOUND = "E_PROJECT_NOT_FOUND"
    E_PROJECT_EXISTS = "E_PROJECT_EXISTS"
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
    E_CLI_NOT_FOUND = "E_CLI_NOT_FOUND"
    E_CLI_NOT_LOGGED_IN = "E_CLI_NOT_LOGGED_IN"
    E_RESUME_GONE = "E_RESUME_GONE"
    E_OUTPUT_TOO_LONG = "E_OUTPUT_TOO_LONG"
    E_AGENT_ERROR = "E_AGENT_ERROR"
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
    E_INTERNAL = "E_INTERNAL"


class Kind(StrEnum):
    STRANGER = "stranger"
    INPUT = "input"
    STATE = "state"
    AGENT = "agent"
    CHANNEL = "channel"
    INTERNAL = "internal"


class Meaning(NamedTuple):
    kind: Kind
    what: str
    next_step: str


CODES: Final[dict[Code, Meaning]] = {
    Code.E_OWNER_ONLY: Meaning(
        Kind.STRANGER,
        "Only the owner and the allow-list are served.",
        "Ask the owner to add you to FAIRLEAD_ALLOWED_USER_IDS.",
    ),
    Code.E_UNAUTHORIZED: Meaning(
        Kind.STRANGER,
        "The request carries no valid bearer token.",
        "Send 'Authorization: Bearer <token>'; the token is in the file http-token of the state directory.",
    ),
    Code.E_NOT_IN_MANAGED_THREAD: Meaning(
        Kind.STATE,
        "No session is bound to this conversation.",
        "Use it in a conversation with a session, or say something first.",
    ),
    Code.E_PROJECT_NOT_FOUND: Meaning(
        Kind.INPUT, "There is no such project.", "`project list` shows names and numbers."
    ),
    Code.E_PROJECT_EXISTS: Meaning(
        Kind.INPUT, "A project with this name exists.", "Choose another name, or use the one that is there."
    ),
    Code.E_INVALID_PATH: Meaning(
        Kind.INPUT, "The path is not an existing directory.", "Give the absolute path of a directory."
    ),
    Code.E_INVALID_TOOLSET: Meaning(
        Kind.INPUT,
        "The tools or the default tool cannot be used.",
        "Name available tools, the default among them.",
    ),
    Code.E_TOOL_NOT_ENABLED: Meaning(
        Kind.INPUT, "The project does not allow this tool.", "`project list` shows the tools of each project."
    ),
    Code.E_SESSION_NOT_FOUND: Meaning(Kind.INPUT, "There is no such session.", "`session list` shows the sessions."),
    Code.E_THREAD_ACCESS_FAILED: Meaning(
        Kind.CHANNEL,
        "The thread is locked, deleted or out of reach.",
        "Unlock it, or start a new one with /start.",
    ),
    Code.E_QUEUE_FULL: Meaning(
        Kind.STATE,
        "The session's queue is full.",
        "Wait for an answer, or `cancel` what is no longer wanted.",
    ),
    Code.E_JOB_NOT_RETRYABLE: Meaning(
        Kind.STATE,
        "Only failed jobs and those interrupted by a crash can be tried again.",
        "Send the message anew.",
    ),
    Code.E_CLI_TIMEOUT: Meaning(
        Kind.AGENT, "The agent took longer than CLI_TIMEOUT_SEC.", "Use `retry`, or ask for a smaller step."
    ),
    Code.E_CLI_EXIT_NONZERO: Meaning(
        Kind.AGENT, "The agent's process ended with an error.", "Look into the job's log, then `retry`."
    ),
    Code.E_CLI_NOT_FOUND: Meaning(
        Kind.AGENT,
        "The agent's program was not found or cannot be run.",
        "`fairlead doctor` says which and where.",
    ),
    Code.E_CLI_NOT_LOGGED_IN: Meaning(
        Kind.AGENT, "The agent's program is not logged in.", "Log in with the program itself, then `retry`."
    ),
    Code.E_ADAPTER_PARSE: Meaning(
        Kind.AGENT,
        "The agent printed a known event in an unknown shape.",
        "`fairlead doctor` checks its version.",
    ),
    Code.E_ADAPTER_MISSING_RESULT: Meaning(
        Kind.AGENT, "The agent ended without a result.", "Look into the job's log, then `retry`."
    ),
    Code.E_ADAPTER_SESSION_KEY_MISSING: Meaning(
        Kind.AGENT,
        "The agent never named its session.",
        "`fairlead doctor` checks its version; then `retry`.",
    ),
    Code.E_RESUME_GONE: Meaning(
        Kind.AGENT,
        "The agent no longer knows the talk it was asked to resume.",
        "`reset` starts afresh; then `retry`.",
    ),
    Code.E_OUTPUT_TOO_LONG: Meaning(
        Kind.AGENT, "The agent printed a line longer than the limit.", "Ask for less at once, then `retry`."
    ),
    Code.E_AGENT_ERROR: Meaning(Kind.AGENT, "The agent reported an error.", "Read its words, then `retry`."),
    Code.E_PERMISSION_TIER: Meaning(
        Kind.AGENT,
        "The agent cannot be held to the project's permission tier.",
        "Change PERMISSIONS.json or the tool.",
    ),
    Code.E_RUNTIME_HUNG: Meaning(Kind.AGENT, "The agent fell silent while busy.", "Use `retry`."),
    Code.E_ACP_CONNECTION: Meaning(
        Kind.AGENT,
        "The ACP agent could not be started or reached.",
        "`fairlead doctor` checks AGENT_COMMAND.",
    ),
    Code.E_ACP_TIMEOUT: Meaning(Kind.AGENT, "The ACP agent did not answer for 30 minutes.", "Use `retry`."),
    Code.E_MODEL_UNAVAILABLE: Meaning(
        Kind.INPUT, "The agent does not offer this model.", "Choose one of those that it offers."
    ),
    Code.E_MODE_UNAVAILABLE: Meaning(
        Kind.INPUT,
        "The agent has no such mode, or the project's permissions leave no room for it.",
        "Choose one of those that `agent mode` offers.",
    ),
    Code.E_ATTACHMENT_GONE: Meaning(
        Kind.AGENT, "An attachment could not be fetched any more.", "Attach it again in a new message."
    ),
    Code.E_UNKNOWN_AFTER_CRASH: Meaning(
        Kind.AGENT,
        "Fairlead stopped while this job ran; what the agent had done by then is unknown.",
        "Use `retry`.",
    ),
    Code.E_DISCORD_RATE_LIMIT: Meaning(
        Kind.CHANNEL,
        "Discord kept refusing because of its rate limit.",
        "Nothing is lost; it is tried again later.",
    ),
    Code.E_UNDELIVERABLE: Meaning(
        Kind.CHANNEL, "The answer has nowhere to go.", "`fairlead journal show JOB` prints it."
    ),
    Code.E_INVALID_NAME: Meaning(
        Kind.INPUT, "A name has 1 to 40 characters of a-z, 0-9, - and _.", "Choose such a name."
    ),
    Code.E_INVALID_ARGS: Meaning(Kind.INPUT, "The arguments cannot be understood.", "Correct them and try again."),
    Code.E_INVALID_USER: Meaning(
        Kind.INPUT,
        "The user id is missing, malformed or another channel's.",
        "Use an id of your own, or link it.",
    ),
    Code.E_EMPTY_MESSAGE: Meaning(Kind.INPUT, "The message is empty.", "Write something, or attach a file."),
    Code.E_MESSAGE_TOO_LARGE: Meaning(
        Kind.INPUT,
        "The message is longer than FAIRLEAD_MAX_MESSAGE_BYTES.",
        "Put the text into a file of the project.",
    ),
    Code.E_IDEMPOTENCY_MISMATCH: Meaning(
        Kind.INPUT, "This Idempotency-Key was used with another body.", "Use a fresh key for a new message."
    ),
    Code.E_NOT_IN_TEXT_CHANNEL: Meaning(
        Kind.STATE,
        "This works only in a text channel of a server.",
        "Go to a text channel, outside of threads.",
    ),
    Code.E_PROJECT_NOT_SELECTED: Meaning(
        Kind.STATE,
        "There is no project to work in.",
        "`project switch NAME` selects one; `project add PATH` makes one.",
    ),
    Code.E_JOB_NOT_FOUND: Meaning(Kind.INPUT, "There is no such job.", "`status` and `session list` name the jobs."),
    Code.E_MESSAGE_NOT_FOUND: Meaning(
        Kind.INPUT,
        "The journal knows nothing of this message.",
        "It never arrived, or its sender is not allowed.",
    ),
    Code.E_NOTHING_TO_CANCEL: Meaning(Kind.STATE, "Nothing is running or queued here.", "There is nothing to do."),
    Code.E_QUESTION_CLOSED: Meaning(
        Kind.STATE,
        "This question is already answered, expired or gone.",
        "If its job was interrupted, `retry` it.",
    ),
    Code.E_SESSION_STATE: Meaning(Kind.STATE, "The session cannot do this now.", "`status` shows what it is doing."),
    Code.E_NO_ACTIVE_SESSION: Meaning(
        Kind.STATE, "There is no active session.", "Say something, or start one with /start."
    ),
    Code.E_SHUTDOWN: Meaning(Kind.INTERNAL, "Fairlead was shut down while the job ran.", "Use `retry`."),
    Code.E_DISK_FULL: Meaning(
        Kind.INTERNAL,
        "The disk is full; nothing new is accepted and nothing accepted is lost.",
        "Make room, send again.",
    ),
    Code.E_JOURNAL_BROKEN: Meaning(
        Kind.INTERNAL,
        "The journal cannot be trusted.",
        "`fairlead journal verify` names the line; restore a backup.",
    ),
    Code.E_STATE_LOCKED: Meaning(
        Kind.INTERNAL, "Another process holds the state directory.", "Stop it, or use another STATE_DIR."
    ),
    Code.E_CONFIG: Meaning(Kind.INTERNAL, "The settings are wrong.", "Correct them; `fairlead doctor` checks them."),
    Code.E_INTERNAL: Meaning(
        Kind.INTERNAL,
        "Something unexpected happened inside Fairlead.",
        "logs/app.ndjson has the details; then `retry`.",
    ),
}


class FairleadError(Exception):
    """Carries its code; says what happened, where, and what to do next."""

    def __init__(self, code: Code, message: str = "", *, next_step: str = "") -> None:
        meaning = CODES[code]
        self.code = code
        self.kind = meaning.kind
        self.message = message or meaning.what
        self.next_step = next_step or meaning.next_step
        self.is_logged = False
        super().__init__(f"{code}: {self.message}")

    def full_sentence(self) -> str:
        return sentence(self.code, self.message, self.next_step)


def sentence(code: str, message: str, next_step: str) -> str:
    """One line for people. The message may be somebody else's words, so it may lack its full stop."""
    stop = "" if not message or message[-1] in ".!?…:\n" else "."
    between = "" if message.endswith("\n") else " "
    return f"{code}: {message}{stop}{between}{next_step}".strip()


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
    return _CLASS_OF[CODES[code].kind](code, message, next_step=next_step)
