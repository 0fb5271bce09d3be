"""What each error code means, and what to do next, in English."""
# one sentence, one line

from typing import Final

ERRORS: Final[dict[str, tuple[str, str]]] = {
    "E_OWNER_ONLY": (
        "Only the owner and people on the allow-list are served.",
        "Ask the owner to add you to FAIRLEAD_ALLOWED_USER_IDS.",
    ),
    "E_UNAUTHORIZED": (
        "The request carries no valid bearer token.",
        "Send 'Authorization: Bearer <token>'; the token is in the file http-token of the state directory.",
    ),
    "E_NOT_IN_MANAGED_THREAD": (
        "No session belongs to this conversation.",
        "Send a message here first, use /start, or go to a session's thread.",
    ),
    "E_PROJECT_NOT_FOUND": (
        "The project[[ #{id}]][[ {project}]] was not found.",
        "/project list shows all of them.",
    ),
    "E_PROJECT_EXISTS": (
        "A project[[ named {project}]] exists already.",
        "Choose another name, or use that one.",
    ),
    "E_INVALID_PATH": (
        "The path[[ {path}]] does not exist.[[ Did you mean {suggestion}?]]",
        "Give the absolute path of a directory.",
    ),
    "E_INVALID_TOOLSET": (
        "These tools cannot be used[[: {tools}]].[[ Available: {available}.]]",
        "Name available tools, with the default among them.",
    ),
    "E_TOOL_NOT_ENABLED": (
        "This project does not allow the tool[[ {tool}]].[[ It allows {enabled}.]]",
        "Choose one of its tools; /project list shows them.",
    ),
    "E_SESSION_NOT_FOUND": (
        "The session[[ {session}]] was not found.",
        "/session list shows all of them.",
    ),
    "E_THREAD_ACCESS_FAILED": (
        "The thread is locked, deleted or out of reach.",
        "Unlock it, or start a new one with /start.",
    ),
    "E_QUEUE_FULL": (
        "The queue of this session is full[[ ({limit} waiting)]].",
        "Wait for an answer, or /cancel what is no longer wanted, then send it again.",
    ),
    "E_JOB_NOT_RETRYABLE": (
        "The job[[ {job}]] cannot be tried again[[: it is {state}]]. Only failed and interrupted jobs can.",
        "Send the message again.",
    ),
    "E_CLI_TIMEOUT": (
        "The agent took longer than[[ {seconds} s,]] the time allowed for a turn (FAIRLEAD_CLI_TIMEOUT_SEC).",
        "Use /retry[[ {job}]], or ask for a smaller step.",
    ),
    "E_CLI_EXIT_NONZERO": (
        "The agent's program ended with an error[[ (exit code {exit_code})]].",
        "Look into the job's log, then /retry[[ {job}]].",
    ),
    "E_CLI_NOT_FOUND": (
        "The agent's program[[ {program}]] was not found.",
        "`fairlead doctor` says what is missing.",
    ),
    "E_CLI_NOT_LOGGED_IN": (
        "The agent's program[[ {program}]] is not logged in.",
        "Log in there, then /retry[[ {job}]].",
    ),
    "E_ADAPTER_PARSE": (
        "The agent's output could not be understood.",
        "`fairlead doctor` checks its version; then /retry[[ {job}]].",
    ),
    "E_ADAPTER_MISSING_RESULT": (
        "The agent ended without a result.",
        "Look into the job's log, then /retry[[ {job}]].",
    ),
    "E_ADAPTER_SESSION_KEY_MISSING": (
        "The agent did not name its session, so it could not be resumed.",
        "`fairlead doctor` checks its version; then /retry[[ {job}]].",
    ),
    "E_RESUME_GONE": (
        "The agent no longer knows the earlier conversation.",
        "/reset starts a new conversation; then /retry[[ {job}]].",
    ),
    "E_OUTPUT_TOO_LONG": (
        "The agent wrote a line longer than the limit.",
        "Ask for less at once, then /retry[[ {job}]].",
    ),
    "E_AGENT_ERROR": (
        "The agent reported an error.",
        "Read what it says, then /retry[[ {job}]].",
    ),
    "E_PERMISSION_TIER": (
        "The agent cannot be held to this project's permissions.",
        "Change PERMISSIONS.json, or choose another tool with /tool.",
    ),
    "E_ACP_CONNECTION": (
        "The agent could not be started.",
        "`fairlead doctor` checks the agent.",
    ),
    "E_ACP_TIMEOUT": (
        "The agent did not respond, so the session was ended by force.",
        "Use /retry[[ {job}]].",
    ),
    "E_RUNTIME_HUNG": (
        "The agent fell silent in the middle of its work and was stopped.",
        "Use /retry[[ {job}]].",
    ),
    "E_MODEL_UNAVAILABLE": (
        "The model[[ {model_id}]] is not available.",
        "Choose one of those that /agent model offers.",
    ),
    "E_MODE_UNAVAILABLE": (
        "This mode cannot be used here. The agent has no such mode, or the project's permissions leave no room for it.",
        "Choose one of those that /agent mode offers.",
    ),
    "E_ATTACHMENT_GONE": (
        "The attachment[[ {name}]] can no longer be fetched.",
        "Attach it again in a new message.",
    ),
    "E_UNKNOWN_AFTER_CRASH": (
        "Fairlead stopped while this ran; how far the agent came is unknown.",
        "Check the project, then /retry[[ {job}]].",
    ),
    "E_DISCORD_RATE_LIMIT": (
        "Discord is taking no more messages for now.",
        "Nothing is lost; it is tried again later.",
    ),
    "E_UNDELIVERABLE": (
        "The answer has nowhere to go.",
        "`fairlead journal show[[ {job}]]` prints it.",
    ),
    "E_INVALID_NAME": (
        "The name[[ {name}]] cannot be used.",
        "Choose 1 to 40 characters of a-z, 0-9, - and _.",
    ),
    "E_INVALID_ARGS": (
        "The arguments could not be understood.",
        "Correct them and try again.",
    ),
    "E_INVALID_USER": (
        "The user id is missing, malformed or belongs to another channel.",
        "Use your own, or link it.",
    ),
    "E_EMPTY_MESSAGE": (
        "The message is empty.",
        "Write something, or attach a file.",
    ),
    "E_MESSAGE_TOO_LARGE": (
        "The message is too large[[ (at most {limit})]].",
        "Put the text into a file of the project, or raise FAIRLEAD_MAX_MESSAGE_BYTES.",
    ),
    "E_IDEMPOTENCY_MISMATCH": (
        "This Idempotency-Key was used with another body.",
        "Use a new key for a new message.",
    ),
    "E_NOT_IN_TEXT_CHANNEL": (
        "This works only in a text channel of a server.",
        "Go to one, outside of threads.",
    ),
    "E_PROJECT_NOT_SELECTED": (
        "There is no project to work in.",
        "/project switch selects one; /project add registers one; /project list shows all of them.",
    ),
    "E_JOB_NOT_FOUND": (
        "The job[[ {job}]] was not found.",
        "/status and /session list name the jobs.",
    ),
    "E_MESSAGE_NOT_FOUND": (
        "Nothing is known of this message.",
        "It did not arrive, or its sender is not allowed.",
    ),
    "E_NOTHING_TO_CANCEL": (
        "Nothing is running or waiting here.",
        "There is nothing to do.",
    ),
    "E_QUESTION_CLOSED": (
        "This question is already answered, expired or gone.",
        "If its job was interrupted, use /retry.",
    ),
    "E_SESSION_STATE": (
        "The session cannot do this now[[ (it is {state})]].",
        "/status shows what it is doing.",
    ),
    "E_NO_ACTIVE_SESSION": (
        "There is no active session.",
        "Send a message, or start one with /start or /agent start.",
    ),
    "E_SHUTDOWN": (
        "Fairlead was shut down while this ran.",
        "Use /retry[[ {job}]].",
    ),
    "E_DISK_FULL": (
        "The disk is full. Nothing new is accepted, and nothing accepted is lost.",
        "Make room, then send it again.",
    ),
    "E_JOURNAL_BROKEN": (
        "The journal cannot be trusted.",
        "`fairlead journal verify` names the line; restore a backup.",
    ),
    "E_STATE_LOCKED": (
        "Another process[[ ({pid})]] uses this state directory.",
        "Stop it, or choose another STATE_DIR.",
    ),
    "E_CONFIG": (
        "The settings are wrong.",
        "Correct them; `fairlead doctor` checks them.",
    ),
    "E_INTERNAL": (
        "An unexpected error occurred inside Fairlead.",
        "logs/app.ndjson has the details; then /retry[[ {job}]].",
    ),
}
