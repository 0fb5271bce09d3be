"""What each error code means, and what to do next, in English."""
# one sentence, one line

from typing import Final

ERRORS: Final[dict[str, tuple[str, str]]] = {
    "E_OWNER_ONLY": (
        "Only the owner and people on the allow-list may use Fairlead.",
        "Ask the owner to add you to FAIRLEAD_ALLOWED_USER_IDS.",
    ),
    "E_UNAUTHORIZED": (
        "The request carries no valid bearer token.",
        "Send 'Authorization: Bearer <token>'; the token is in the file http-token of the state directory.",
    ),
    "E_AGENT_CALLER": (
        "The request comes from a process that Fairlead started for an agent.",
        "Agents may not answer questions or send commands. Use a terminal or a program of your own.",
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
        "A project[[ named {project}]] already exists.",
        "Choose another name, or use that one.",
    ),
    "E_PROJECT_IN_USE": (
        "The project is still in use.",
        "Wait for its jobs to end, or /cancel them; then remove it.",
    ),
    "E_INVALID_PATH": (
        "The path[[ {path}]] does not exist.[[ Did you mean {suggestion}?]]",
        "Give the absolute path of a directory.",
    ),
    "E_INVALID_TOOLSET": (
        "These agents cannot be used[[: {tools}]].[[ Available: {available}.]]",
        "Name available agents, and include the default one.",
    ),
    "E_TOOL_NOT_ENABLED": (
        "This project does not allow the agent[[ {tool}]].[[ It allows {enabled}.]]",
        "Choose one of its agents; /project list shows them. If it is not installed yet, install it and try again.",
    ),
    "E_SESSION_NOT_FOUND": (
        "The session[[ {session}]] was not found.",
        "/session list shows all of them.",
    ),
    "E_THREAD_ACCESS_FAILED": (
        "The thread is locked, deleted or not accessible.",
        "Unlock it, or start a new one with /start.",
    ),
    "E_QUEUE_FULL": (
        "The queue of this session is full[[ ({limit} waiting)]].",
        "Wait for an answer, or use /cancel, then send it again.",
    ),
    "E_JOB_NOT_RETRYABLE": (
        (
            "The job[[ {job}]] cannot be tried again[[: it is {state}]]. "
            "Only jobs that failed, were interrupted or changed files can, each once."
        ),
        "Use /retry with the latest attempt, or send the message again.",
    ),
    "E_CLI_TIMEOUT": (
        "The agent's turn timed out[[ after {seconds} s]] (FAIRLEAD_CLI_TIMEOUT_SEC).",
        "Use /retry[[ {job}]], or ask for a smaller step.",
    ),
    "E_CLI_EXIT_NONZERO": (
        "The agent's process ended with an error[[ (exit code {exit_code})]].",
        "Check the job's log, then /retry[[ {job}]].",
    ),
    "E_CLI_NOT_FOUND": (
        "The agent's program[[ {program}]] was not found.",
        "`fairlead doctor` says what is missing.",
    ),
    "E_CLI_NOT_LOGGED_IN": (
        "The agent's program[[ {program}]] is not logged in.",
        "Log in there, then try again[[: /retry {job}]].",
    ),
    "E_ADAPTER_PARSE": (
        "The agent's output could not be parsed.",
        "`fairlead doctor` checks its version; then /retry[[ {job}]].",
    ),
    "E_ADAPTER_MISSING_RESULT": (
        "The agent ended without a result.",
        "Check the job's log, then /retry[[ {job}]].",
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
    "E_AGENT_INTERRUPTED": (
        "The agent's turn was interrupted, but nobody cancelled it.",
        "Its work may be incomplete: check the project, then /retry[[ {job}]].",
    ),
    "E_CONTEXT_FULL": (
        "The conversation is too long for the agent's model.",
        "/reset starts a new conversation; then /retry[[ {job}]]. Shorten the message if it alone is too long.",
    ),
    "E_BUDGET_SPENT": (
        "The agent's process reached RUNTIME_MAX_BUDGET_USD and was ended.",
        "/retry[[ {job}]] and later messages get a new budget. If that is too little, raise RUNTIME_MAX_BUDGET_USD.",
    ),
    "E_PERMISSION_TIER": (
        "This agent cannot enforce this project's permissions.",
        "Change PERMISSIONS.json, or choose another agent with /tool.",
    ),
    "E_ACP_CONNECTION": (
        "The agent could not be started.",
        "`fairlead doctor` checks the agent.",
    ),
    "E_ACP_TIMEOUT": (
        "The agent did not respond, so the session was ended by force.",
        "Try again[[: /retry {job}]].",
    ),
    "E_RUNTIME_HUNG": (
        "The agent stopped responding during its turn and was ended.",
        "Use /retry[[ {job}]].",
    ),
    "E_MODEL_UNAVAILABLE": (
        "The model[[ {model_id}]] is not available.",
        "Choose one that /agent model lists.",
    ),
    "E_MODE_UNAVAILABLE": (
        "This mode cannot be used here. The agent has no such mode, or the project's permissions do not allow it.",
        "Choose one that /agent mode lists.",
    ),
    "E_AGENT_NOT_FOUND": (
        "There is no agent with this name.",
        "`fairlead agent list` lists the available agents, `fairlead agent search` those that you can add.",
    ),
    "E_RULE_NOT_FOUND": (
        "There is no such rule.",
        "/rules lists the rules.",
    ),
    "E_HOOK_NOT_FOUND": (
        "There is no such webhook.",
        "/hook list lists the webhooks.",
    ),
    "E_HOOK_EXISTS": (
        "There is a webhook of this name already.",
        "Choose another name, or remove it first with /hook remove.",
    ),
    "E_TOO_MANY_EVENTS": (
        "The webhook gets more events than it takes.",
        "Send the event again in a minute. FAIRLEAD_HOOK_EVENTS_PER_MINUTE is the limit.",
    ),
    "E_SCHEDULE_NOT_FOUND": (
        "There is no such schedule.",
        "/schedule list lists the schedules.",
    ),
    "E_SCHEDULE_TIME": (
        "This time cannot be used for a schedule.",
        "Write it as in `every weekday at 9`, `tomorrow at 8:30`, `2026-12-24 18:00` or `0 9 * * 1-5`.",
    ),
    "E_SCHEDULE_BUSY": (
        "The last run of this schedule has not ended.",
        "Wait for it, or cancel it with /cancel.",
    ),
    "E_SCHEDULE_CHECK": (
        "The check of this schedule could not be carried out, so it did not run.",
        "Correct the command: remove the schedule and add it again.",
    ),
    "E_AGENT_IN_USE": (
        "The agent is still in use.",
        "Switch these sessions and projects to another agent first, or add --force.",
    ),
    "E_AGENT_INSTALL": (
        "The agent could not be installed. Nothing was changed.",
        "Fix the problem that the message names, then run the command again.",
    ),
    "E_AGENT_DIGEST": (
        "The files of this version differ from those of its first installation.",
        "Do not use them. Ask the publisher of the agent why they changed, or choose another version.",
    ),
    "E_ATTACHMENT_GONE": (
        "The attachment[[ {name}]] can no longer be fetched.",
        "Attach it again in a new message.",
    ),
    "E_UNKNOWN_AFTER_CRASH": (
        "Fairlead stopped while this was running; how far the agent got is unknown.",
        "Check the project, then /retry[[ {job}]].",
    ),
    "E_DISCORD_RATE_LIMIT": (
        "Discord limits the rate of messages (rate limit).",
        "Nothing is lost; Fairlead tries again later.",
    ),
    "E_UNDELIVERABLE": (
        "The answer could not be delivered.",
        "`fairlead journal show[[ {job}]]` prints it.",
    ),
    "E_INVALID_NAME": (
        "The name[[ {name}]] cannot be used.",
        "Choose 1 to 40 characters of a-z, 0-9, - and _.",
    ),
    "E_INVALID_ARGS": (
        "The arguments could not be understood.",
        "Correct the request and try again.",
    ),
    "E_INVALID_USER": (
        "The user id is missing or malformed, has digits only and is not linked, or belongs to another channel's user.",
        "Give an id of your own, such as alice, or link it in FAIRLEAD_IDENTITIES.",
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
        "Use it in a text channel, outside of threads.",
    ),
    "E_PROJECT_NOT_SELECTED": (
        "There is no project to work in.",
        "/project switch selects one; /project add registers one; /project list shows all of them.",
    ),
    "E_JOB_NOT_FOUND": (
        "The job[[ {job}]] was not found.",
        "/jobs lists the jobs of this session.",
    ),
    "E_MESSAGE_NOT_FOUND": (
        "The message was not found.",
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
    "E_SESSION_IN_USE": (
        "The agent's session is in use elsewhere.",
        "Leave it there first, then try again.",
    ),
    "E_SESSION_HANDED_OFF": (
        "This session was handed off to a terminal.",
        "Leave it there, then use /handoff back.",
    ),
    "E_SHUTDOWN": (
        "Fairlead was shut down while this was running.",
        "Use /retry[[ {job}]].",
    ),
    "E_DISK_FULL": (
        "The disk is full. New messages are refused; no accepted message is lost.",
        "Free some disk space, then send it again.",
    ),
    "E_JOURNAL_BROKEN": (
        "The journal is damaged.",
        "`fairlead journal verify` names the damaged line; `fairlead restore` restores a copy.",
    ),
    "E_STATE_LOCKED": (
        "Another process[[ ({pid})]] uses this state directory.",
        "Stop it, or choose another STATE_DIR.",
    ),
    "E_CONFIG": (
        "The settings are wrong.",
        "Correct the settings; `fairlead doctor` checks them.",
    ),
    "E_SPAWN_DEPTH": (
        "Too many sessions are nested: a spawned session may not spawn another one here.",
        "Do the task here, or raise FAIRLEAD_SPAWN_MAX_DEPTH.",
    ),
    "E_SPAWN_LIMIT": (
        "Too many sessions were spawned from this one.",
        "Wait until some have finished, or /cancel children:yes; a message from a person resets the count of agents.",
    ),
    "E_SPAWN_CANCELLED": (
        "The task was cancelled before its session had begun.",
        "Ask for it again if you still want it.",
    ),
    "E_WORKTREE_UNAVAILABLE": (
        "This project cannot have a worktree.",
        "It needs git and a repository with a commit. Without a worktree, sessions work in the project's directory.",
    ),
    "E_WORKTREE_GONE": (
        "The worktree of this session is gone: somebody removed or moved it.",
        "/discard gives it up and keeps its commits; then /worktree make makes a new one.",
    ),
    "E_WORKTREE_BUSY": (
        "The worktree is in use.",
        "Wait until that has ended, or /cancel it; then try again.",
    ),
    "E_NO_WORKTREE": (
        "This session has no worktree.",
        "/worktree make makes one; /worktree list shows all.",
    ),
    "E_UNCOMMITTED_WORK": (
        "Files in the worktree are not committed.",
        "Ask the agent to commit them, then use /merge again. /discard gives the worktree up.",
    ),
    "E_WORK_WOULD_BE_LOST": (
        "Work in the worktree is not merged.",
        "/merge keeps the commits; /discard confirm:yes discards it all.",
    ),
    "E_MERGE_CONFLICT": (
        "The worktree's branch conflicts with the branch that it shall go into. Nothing was changed.",
        "The agent was asked to resolve it. When it has, look at it and use /merge again.",
    ),
    "E_MERGE_BLOCKED": (
        "The merge is not possible now. Nothing was changed.",
        "Settle what stands in its way in the project's directory, then use /merge again.",
    ),
    "E_FORK_UNAVAILABLE": (
        "This talk cannot be forked.",
        "Choose an agent that can fork with /tool, or begin an empty session with /start.",
    ),
    "E_NOT_STEERABLE": (
        "There is no waiting message to give to the running turn.",
        "Send !text while the agent works; /jobs shows what waits.",
    ),
    "E_STEER_UNKNOWN": (
        "The agent ended before it said whether it took your text into the turn.",
        "Look at its answer; /retry[[ {job}]] sends the text again, as a message of its own.",
    ),
    "E_INTERNAL": (
        "An unexpected error occurred inside Fairlead.",
        "logs/app.ndjson has the details; then /retry[[ {job}]].",
    ),
    "E_SNAPSHOT": (
        "No snapshot of the project's files could be taken.",
        "The agent works all the same, but this turn cannot be undone. `fairlead doctor` says more.",
    ),
    "E_SNAPSHOT_GONE": (
        "The snapshot of the files is no longer there.",
        "Snapshots go with their job, or when somebody removes refs/fairlead from the repository. Use your own git.",
    ),
    "E_NOTHING_TO_UNDO": (
        "There is nothing to undo or redo here.",
        "/jobs lists the turns, /changes shows what one of them changed.",
    ),
    "E_UNDO_CHANGED": (
        "Files of that turn have changed since, so nothing was undone.",
        "Look at them (/changes with its number shows that diff), save what you need, undo by hand or with your git.",
    ),
    "E_UNDO_BUSY": (
        "An agent is working in this directory.",
        "Wait until it is done, or /cancel; then try again.",
    ),
    "E_MACHINE_AWAY": (
        "This machine is not connected.",
        "Start the runner there: `fairlead runner run`. /machine list shows since when it is away.",
    ),
    "E_MACHINE_NOT_FOUND": (
        "There is no such machine.",
        "/machine list names them; `fairlead machine add NAME` adds one.",
    ),
    "E_MACHINE_REMOVED": (
        "This machine was removed.",
        "`fairlead machine add NAME` on the daemon's machine makes a new key; join with it.",
    ),
    "E_MACHINE_IN_USE": (
        "Something still runs or waits on this machine.",
        "Cancel it, or wait for it; /machine forget NAME gives it up.",
    ),
    "E_MACHINES_TAKEN": (
        "Another daemon gives orders to these machines.",
        (
            "Stop that daemon. If there is none because you went back to a backup: stop Fairlead and run "
            "`fairlead restore`; this state then goes on."
        ),
    ),
    "E_RUNNER_OLD": (
        "The runner of this machine is another version of Fairlead.",
        (
            "Upgrade the older of the two. On that machine, in the checkout, type "
            "`git pull && uv tool install --reinstall '.[machines]'`, then start the runner again."
        ),
    ),
    "E_RUNNER_SUPERSEDED": (
        "Another runner has this machine's name now, and this one has ended.",
        "Stop the other one, or let each join under a name of its own.",
    ),
}
