"""Engine events: what an agent just said or did. Channels show them, and the journal keeps few of them.

A turn is a stream of these that ends with exactly one `TurnEnded` or `TurnFailed`. Everything here can be serialised,
so that a runtime may one day run on another machine; so nothing here can refer back to itself (`gc=False`).
"""

from typing import Any, Final, Literal, TypeAlias

import msgspec

from fairlead.core.ids import JobId, ResumeKey, SessionKeyText
from fairlead.errors import Code


class _Engine(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag=True, gc=False):
    pass


class Ready(_Engine, frozen=True):
    """The turn is prepared and has not begun: asking the stream for the next event begins it."""


class HandingOver(_Engine, frozen=True):
    """The agent is there and has no prompt yet: asking the stream for the next event gives it the prompt. On another
    machine it has the prompt by now; `machine_time` is what the clock there said, and `taken_at` what it said when the
    order for the turn had arrived."""

    machine_time: str = ""
    taken_at: str = ""


class TextDelta(_Engine, frozen=True):
    """The next words of the answer."""

    text: str


class ThinkingDelta(_Engine, frozen=True):
    text: str


class ToolStarted(_Engine, frozen=True):
    """`parent_id` is the tool that started the sub-agent whose tool this is; empty for the agent's own."""

    tool_id: str
    name: str
    input: dict[str, Any] = {}
    parent_id: str = ""


class ToolProgressed(_Engine, frozen=True, kw_only=True):
    """More about a tool that runs: its title, the places it works at, the diff it makes, what it has printed so far.
    Each field replaces what was said before; an empty one changes nothing."""

    tool_id: str
    title: str = ""
    locations: tuple[str, ...] = ()
    diff: str = ""
    output: str = ""


class ToolEnded(_Engine, frozen=True):
    tool_id: str
    ok: bool = True
    summary: str = ""


class ImageProduced(_Engine, frozen=True):
    media_type: str
    data: bytes


class ResumeKeyFound(_Engine, frozen=True):
    """The id by which this tool can resume this session."""

    key: str


class PointReached(_Engine, frozen=True):
    """The agent's own name for where its talk is now: a fork can keep the talk up to here, and drop what comes later.
    The last one of a turn counts, whichever way the turn ends."""

    point: str


class Suggestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """A standing permission the agent proposes, in words for people and in its own form for the way back."""

    label: str
    raw: dict[str, Any] = {}


class PermissionRequested(_Engine, frozen=True, kw_only=True):
    """Everything a person needs to decide: the tool, the full command or path, the diff where there is one.

    Standing rules read `command`, what a shell would run, if the call is nothing but that; `directory`, where it would
    run, empty for the project's own; and `paths`, all the files that an edit would change."""

    request_id: str
    tool: str
    title: str
    detail: str = ""
    diff: str = ""
    input: dict[str, Any] = {}
    command: str = ""
    directory: str = ""
    paths: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()


class Option(msgspec.Struct, frozen=True, omit_defaults=True):
    label: str
    description: str = ""


class AskedItem(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One thing to decide, with the options that the agent offers; with `several`, more than one may be chosen."""

    text: str
    options: tuple[Option, ...] = ()
    header: str = ""
    several: bool = False


class QuestionRequested(_Engine, frozen=True):
    """The agent wants to hear from a person before it goes on; the journal knows the same as `QuestionAsked`."""

    request_id: str
    items: tuple[AskedItem, ...]


class PlanProposed(_Engine, frozen=True):
    request_id: str
    plan: str


class RequestWithdrawn(_Engine, frozen=True):
    """The agent no longer waits for a response to this request."""

    request_id: str


class UsageReported(_Engine, frozen=True, kw_only=True):
    """The tokens and cost of this turn alone: a runtime whose agent reports totals subtracts the earlier turns."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    context_used: int = 0
    context_size: int = 0


class LimitWindow(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """How much of what an agent's account may use in a span of time is used. `used` is from 0 to 1, None where the
    agent does not say; `is_spent` says that it refuses more until `resets_at`, which may be unknown."""

    name: str
    used: float | None = None
    resets_at: str = ""
    is_spent: bool = False


class LimitsReported(_Engine, frozen=True):
    """Windows of the agent's account, as of now; one that is not named is as it was."""

    windows: tuple[LimitWindow, ...]


class ModelsOffered(_Engine, frozen=True):
    current: str
    models: tuple[str, ...] = ()


class ModesOffered(_Engine, frozen=True):
    current: str
    modes: tuple[str, ...] = ()


class AgentOption(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A setting of the agent beside model and mode; `values` are empty for a switch, which is `on` or `off`."""

    option_id: str
    name: str
    current: str
    values: tuple[str, ...] = ()


class OptionsOffered(_Engine, frozen=True):
    options: tuple[AgentOption, ...]


class SlashCommand(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A slash command of the agent's own; `hint` says what may be typed after its name."""

    name: str
    description: str = ""
    hint: str = ""


class CommandsOffered(_Engine, frozen=True):
    commands: tuple[SlashCommand, ...]


class TodoItem(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    text: str
    status: Literal["pending", "in_progress", "completed"] = "pending"


class TodosChanged(_Engine, frozen=True):
    """The agent's list of what it is going to do, whole; empty when the agent has dropped it."""

    items: tuple[TodoItem, ...] = ()


class TitleFound(_Engine, frozen=True):
    """What the agent calls this session."""

    title: str


class Diagnostic(_Engine, frozen=True):
    """Something worth keeping in the log and not worth showing."""

    text: str


class Noticed(_Engine, frozen=True):
    """Something beside the answer that the person must hear of, and what to do about it."""

    text: str


INTERRUPTED: Final = "interrupted"


class TurnEnded(_Engine, frozen=True):
    """The clean final answer. `text` is whole: deltas were only for showing. With the stop reason INTERRUPTED it is no
    answer: the turn was stopped, and if nobody had asked for that, it has failed."""

    text: str
    stop_reason: str = ""
    machine_time: str = ""
    """What the clock of another machine said, where the turn ran there."""


class TurnFailed(_Engine, frozen=True):
    code: Code
    message: str
    text: str = ""
    transient: bool = False
    machine_time: str = ""


EngineEvent: TypeAlias = (
    Ready
    | HandingOver
    | TextDelta
    | ThinkingDelta
    | ToolStarted
    | ToolProgressed
    | ToolEnded
    | ImageProduced
    | ResumeKeyFound
    | PointReached
    | PermissionRequested
    | QuestionRequested
    | PlanProposed
    | RequestWithdrawn
    | UsageReported
    | LimitsReported
    | ModelsOffered
    | ModesOffered
    | OptionsOffered
    | CommandsOffered
    | TodosChanged
    | TitleFound
    | Diagnostic
    | Noticed
    | TurnEnded
    | TurnFailed
)

Ask: TypeAlias = PermissionRequested | QuestionRequested | PlanProposed

Verdict = Literal["allow", "deny"]


class Response(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag=True, kw_only=True):
    """What a person decided, on its way back to the agent (an answer is what the agent says)."""

    request_id: str
    verdict: Verdict
    chosen: dict[str, str] = {}
    message: str = ""
    remember: bool = False


class Interrupt(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    """Stop this turn, keep the session."""


class SetModel(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    model: str


class SetMode(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    """What the agent may do without asking. Refused where the permissions of the workspace do not allow it."""

    mode: str
    workspace_path: str


AgentInstruction: TypeAlias = Response | Interrupt | SetModel | SetMode


class AgentInitiated(msgspec.Struct, frozen=True):
    """One event of a turn that the agent began by itself. Turns are told apart by `turn_id`; `generation` is that of
    the session when the agent was started."""

    session_key: SessionKeyText
    generation: int
    turn_id: str
    event: EngineEvent


class ForkOrigin(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A talk that begins as a copy of another: of all that the agent remembers under `key`, or, with a `point`, of that
    up to there. A point is the agent's own name for a place in the talk (`PointReached`). The other talk stays as it
    is."""

    key: ResumeKey
    point: str = ""


class InputFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that goes with the prompt, already on disk."""

    path: str
    name: str
    media_type: str = ""


class Steer(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Further words for a turn that runs. With `foreign` they are not those of the person who asked for the turn: what
    people allowed beforehand no longer holds in it."""

    job_id: JobId
    text: str
    files: tuple[InputFile, ...] = ()
    foreign: bool = False


SteerOutcome = Literal["taken", "too_late", "refused", "unknown"]


class SteerResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of the words: the agent took them into its turn; the turn was over first, and the agent does not have
    them; the agent refused them, in these words; or nobody knows, because the agent ended before it said so."""

    outcome: SteerOutcome
    words: str = ""


class Invocation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All that a runtime needs to run one turn. `is_second_attempt` marks
    the one repetition that Fairlead makes by itself; there is no third attempt.

    `fork` says what the talk began as, until the agent has answered in it: without a `resume_key`, and where the agent
    has not stored what that key names, the turn begins with the fork and reports the key of the new talk.

    `is_asked_again` marks a turn that an earlier process of the daemon began on another machine."""

    job_id: JobId
    session_key: SessionKeyText
    generation: int
    project_name: str
    project_path: str
    workspace_path: str
    prompt: str
    mark: str
    attempt: int = 1
    is_second_attempt: bool = False
    resume_key: ResumeKey | None = None
    fork: ForkOrigin | None = None
    model: str | None = None
    args: tuple[str, ...] = ()
    files: tuple[InputFile, ...] = ()
    allowed: tuple[str, ...] = ()
    is_asked_again: bool = False
