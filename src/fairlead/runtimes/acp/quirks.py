"""What agents do differently, as data: each quirk stands here and has a test of its name, never a branch by name."""

from typing import Final, Literal

import msgspec


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults are the protocol as it is written, and an agent that nobody has tried."""

    start_mode: str = ""
    """The mode that a session gets unless a person chooses another: one in which the agent asks. Empty for the mode
    that the agent itself starts in."""

    strict_mode: str | None = None
    """The mode in which the agent changes nothing without asking, so that a tier can be held. None: none is known."""

    mode_message: str = ""
    """A pattern: a chunk of a message that is no message, but says which mode the agent is in now."""

    narrow_allow: str = ""
    """The option to choose where the agent offers several that allow once: the one that allows the least."""

    usage: Literal["turn", "session", "process", "last request", "updates", "none"] = "turn"
    """What the tokens in the response to a prompt count: those of the turn, of the session, of all that this process
    has done, or of the last request alone. With `updates` it counts nothing, but empty chunks of text do, one for each
    request to the model."""

    question_meta: str = ""
    """The agent asks its questions as a permission for a tool call: under this name the call's `_meta` lists them, and
    the answers stand by their numbers beside the outcome."""

    tools_outlive_cancel: bool = False
    """A command that runs when the turn is cancelled goes on running. The agent is ended then; its session is resumed
    with the next prompt."""

    rejection_cancels: bool = False
    """A tool (Codex) or a plan (Claude) that a person refuses ends the turn as cancelled, although nobody cancelled
    it."""

    error_text: str = ""
    """A pattern: the agent tells an error of its model as the text of a turn that ends well."""

    error_mark: tuple[str, ...] = ()
    """The way through the `_meta` of a `session_info_update`, and the word at its end by which the agent says that its
    model has failed. What it says after that is the error, although the turn ends well."""

    session_of_this_minute: str = ""
    """Where below the home directory a session's file would stand if the session had been made in this minute. Such a
    session is loaded when the minute is over: the agent would begin its file again, and lose all that is in it."""

    replays_after_loading: bool = False
    """The agent says that a session is loaded, and repeats the history of it afterwards: nothing is prompted before the
    history has begun to come."""

    forks_at_message: bool = False
    """`session/fork` takes the id of one of the agent's messages, in `_meta.jetbrains.air.fork`, and keeps the talk up
    to there."""

    records: Literal["", "claude", "codex"] = ""
    """Whose records its sessions are kept in, if it runs that agent: there one sees who has a session open."""

    resume_command: tuple[str, ...] = ()
    """What a person types in a terminal before the id of a session to go on with it; empty where nothing is known."""

    settle_sec: float = 0.3
    """How long the agent must be silent after a session was loaded before a prompt is sent: nothing else tells the end
    of the history."""


PLAIN: Final = Quirks()
PLAN_MODE: Final = "plan"
"""What agents call the mode in which they plan and change nothing."""

_BY_AGENT: Final = {
    "@agentclientprotocol/claude-agent-acp": Quirks(
        records="claude",
        resume_command=("claude", "--resume"),
        strict_mode="default",
        rejection_cancels=True,
        forks_at_message=True,
    ),
    "@agentclientprotocol/codex-acp": Quirks(
        records="codex",
        resume_command=("codex", "resume"),
        start_mode="workspace-write",
        strict_mode="read-only",
        rejection_cancels=True,
        tools_outlive_cancel=True,
        forks_at_message=True,
        error_mark=("codex", "threadStatus", "type", "systemError"),
    ),
    "gemini-cli": Quirks(
        resume_command=("gemini", "--resume"),
        strict_mode="default",
        mode_message=r"\[MODE_UPDATE\] (\S+)",
        session_of_this_minute=".gemini/tmp/*/chats/session-{minute}-{id}.jsonl",
        replays_after_loading=True,
    ),
    "OpenCode": Quirks(resume_command=("opencode", "--session"), usage="last request"),
    "qwen-code": Quirks(
        resume_command=("qwen", "--resume"),
        start_mode="default",
        strict_mode="default",
        narrow_allow="proceed_once",
        usage="updates",
        question_meta="qwenQuestions",
    ),
    "Copilot": Quirks(
        resume_command=("copilot", "--resume"),
        strict_mode="agent",
        usage="process",
        error_text=r"Error: (?:Failed to get response from the AI model|Authentication failed with provider)",
    ),
    "hermes-agent": Quirks(usage="session"),
}

HANDLED_FOR_ALL: Final = {
    "a_second_prompt_harms_the_first": "gemini and copilot cancel it, qwen fails it, opencode keeps its response back:"
    " the next prompt is sent when the last one has its response.",
    "no_tool_call_before_a_permission": "gemini: a tool that ends without having begun has begun.",
    "modes_are_addresses": "copilot: people read and type what stands behind the last `#`.",
    "an_api_error_is_an_error_and_a_text": "claude: the text is not told beside the error.",
    "usage_in_meta_quota": "gemini: counted under `_meta.quota`.",
    "the_talk_is_lost_after_sigkill": "gemini within the minute of its file, other agents perhaps always: the end of"
    " input comes first, so that only /agent kill and a crash lose a talk, and the next message says so.",
    "the_process_hangs_if_stdin_is_at_its_end": "codex: a signal follows the end of its input.",
    "a_refusal_has_no_words": "the protocol lets a person choose a way to refuse and say nothing with it: the person's"
    " words are the first message after the turn, for every agent that speaks ACP.",
    "programs_that_start_at_once_disturb_each_other": "opencode: its database is locked, or its tables are there."
    " The first program of an agent starts alone, and one that ends so before it has said who it is is started again.",
    "requests_that_no_protocol_has": "qwen: they are refused with -32601.",
}
"""Quirks that need no data, because what is done about them harms no other agent."""


def quirks_of(agent_name: str) -> Quirks:
    """By the name that the agent gives itself: it is the same however a person calls and starts the agent."""
    return _BY_AGENT.get(agent_name, PLAIN)
