"""The protocol of a long-lived Claude: what each line means, for which turn, and which lines are written back. Pure."""

from typing import Any, Final, Literal, cast

import msgspec

from fairlead.core.decide.questions import narrow_rule
from fairlead.core.engine import (
    Ask,
    Diagnostic,
    EngineEvent,
    LimitsReported,
    ModelsOffered,
    PermissionRequested,
    PlanProposed,
    PointReached,
    QuestionRequested,
    RequestWithdrawn,
    Response,
    ResumeKeyFound,
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.runtimes.claude import wire
from fairlead.runtimes.claude.agent_requests import response_to
from fairlead.runtimes.claude.translate import ClaudeTranslator
from fairlead.runtimes.claude.turn_router import TurnRouter
from fairlead.runtimes.lines import UNREADABLE, why_unread

INITIALIZE: Final = "fairlead-initialize"
CONTEXT_USAGE: Final = "fairlead-context"
# These events accompany a turn; none of them shows that a turn has begun.
_BESIDE: Final = Diagnostic | LimitsReported | ModelsOffered | PointReached | ResumeKeyFound | UsageReported

_ENDING: Final = frozenset({Code.E_ADAPTER_PARSE, Code.E_CLI_NOT_LOGGED_IN, Code.E_BUDGET_SPENT})

To = Literal["job", "agent turn"]


class LineResult(msgspec.Struct):
    """What follows from one line: events of the job, events of a turn that Claude began, lines to write back."""

    job: list[EngineEvent] = []
    taken: str = ""
    """The uuid of a prompt or text that Claude has taken up."""
    cancelled: str = ""
    """The uuid of one that Claude has dropped before it took it up."""
    agent_turn: list[EngineEvent] = []
    reply: list[bytes] = []


class ProcessInfo(msgspec.Struct):
    """What Claude has said about its process, for `/status`."""

    model: str = ""
    models: tuple[str, ...] = ()
    context_used: int = 0
    context_size: int = 0


class ClaudeProtocol:
    """`key` is the id of Claude's session. It serves one job's turn at a time; beside it Claude may have turns of its
    own, whose ids begin with `turn_prefix`. `spent` is what the session had cost before, None where nobody knows."""

    def __init__(self, key: str, turn_prefix: str = "", *, spent: float | None = 0.0) -> None:
        self.key = key
        self._spent = spent
        self._turn_prefix = turn_prefix
        self._agent_turns = 0
        self.info = ProcessInfo()
        self.allowed: set[str] = set()
        self.has_used_tools = False
        self.has_been_granted = False
        self.has_been_steered = False
        self.agent_turn_id = ""
        self.is_interrupted = False
        """Somebody stops the job's turn: its next result is its last."""
        self._router = TurnRouter()
        self._job: ClaudeTranslator | None = None
        self._of_agent_turn = ClaudeTranslator(key)
        self._asks: dict[str, tuple[Ask, dict[str, Any]]] = {}
        self._tools: set[str] = set()

    @property
    def is_waiting(self) -> bool:
        """A tool runs or a person is asked: Claude may be silent without hanging."""
        return bool(self._tools or self._asks)

    @property
    def has_work_of_its_own(self) -> bool:
        return bool(self.agent_turn_id or self._router.background_tasks or self._asks)

    def begin(self, prompt_uuid: str, allowed: tuple[str, ...] = ()) -> None:
        self._job = ClaudeTranslator(self.key)
        self.is_interrupted = False
        self._router.expect(prompt_uuid)
        self.allowed = set(allowed)  # those of this prompt: one that quotes somebody else has none
        self.has_used_tools = self.has_been_granted = self.has_been_steered = False

    def steer(self, uuid: str, *, foreign: bool) -> bool:
        """A text goes into the job's turn; False if there is none any more."""
        if self._job is None:
            return False
        self.has_been_steered = True
        self._router.add_text(uuid)
        if foreign:
            self.allowed.clear()  # what the person allowed was meant for their own words
        return True

    def receive(self, line: bytes) -> LineResult:
        try:
            event = wire.decoder.decode(line)
        except UNREADABLE as fault:
            unread = why_unread(line, wire.KINDS, fault)
            return self._address(self._job_or_agent_turn(), (self._job or self._of_agent_turn).translate_unread(unread))
        belongs = self._router.route(event)
        if belongs == "process":
            return self._read_process_line(event)
        translator = self._translator(belongs)
        if isinstance(event, wire.StreamEvent):  # nearly every line is one, and the code below does not concern it
            return self._address(belongs, translator.translate(event))
        translator.spent = self._spent  # claude counts the costs of a session over all its turns
        result = self._address(belongs, translator.translate(event))
        self._spent = translator.spent
        match event:
            case wire.Result():
                self._conclude(belongs, result)
            case wire.ControlRequest() if event.request.subtype != "can_use_tool":
                # Claude would wait for ever for a response.
                result.reply.append(wire.refusal_line(event.request_id, f"{event.request.subtype} is not supported"))
            case _:
                pass
        return result

    def write_response(self, response: Response) -> bytes | None:
        """The line that carries a person's response, None if nobody waits for it any more."""
        waiting = self._asks.pop(response.request_id, None)
        if waiting is None:
            return None
        ask, tool_input = waiting
        if response.verdict == "allow":
            self.has_been_granted = True
            if response.remember and isinstance(ask, PermissionRequested):
                self.allowed.add(narrow_rule(ask))
        return wire.response_line(response.request_id, response_to(ask, tool_input, response))

    def approves_plan(self, response: Response) -> bool:
        ask, _ = self._asks.get(response.request_id, (None, None))
        return response.verdict == "allow" and isinstance(ask, PlanProposed)

    def forget_job(self) -> None:
        self._job = None
        self._router.forget()

    # --- who gets it -----------------------------------------------------------------------------------------------

    def _job_or_agent_turn(self) -> To:
        return "job" if self._job is not None else "agent turn"

    def _translator(self, to: To) -> ClaudeTranslator:
        return self._job if to == "job" and self._job is not None else self._of_agent_turn

    def _address(self, to: To, events: list[EngineEvent]) -> LineResult:
        result = LineResult()
        if not events:
            return result
        translator = self._translator(to)
        kept = [event for event in events if self._follow(event, translator, result)]
        if translator is self._job:
            result.job = kept
        else:
            result.agent_turn = self._begin_agent_turn(kept)
        return result

    def _begin_agent_turn(self, events: list[EngineEvent]) -> list[EngineEvent]:
        """A turn that Claude begins by itself begins with the first thing that Claude says or does in it."""
        if not self.agent_turn_id:
            if all(isinstance(event, _BESIDE) for event in events):
                return []
            self._agent_turns += 1
            self.agent_turn_id = f"{self._turn_prefix}{self._agent_turns}"
        return events

    def _follow(self, event: EngineEvent, translator: ClaudeTranslator, result: LineResult) -> bool:
        """Keep track of open tools and requests. False for an event that is answered here and goes no further."""
        if isinstance(event, TextDelta):  # nearly every event is one, and `match` would take longer
            return True
        match event:
            case ToolStarted():
                self._tools.add(event.tool_id)
                self.has_used_tools = self.has_used_tools or translator is self._job
            case ToolEnded():
                self._tools.discard(event.tool_id)
            case RequestWithdrawn():
                return self._asks.pop(event.request_id, None) is not None
            case PermissionRequested() if narrow_rule(event) in self.allowed:
                self.has_been_granted = True
                result.reply.append(self._allow(event))
                return False
            case PermissionRequested() | QuestionRequested() | PlanProposed():
                self._asks[event.request_id] = (event, self._input_of(event, translator))
            case ModelsOffered():
                self.info.model = event.current
            case UsageReported():
                self.info.context_used = event.context_used or self.info.context_used
                self.info.context_size = event.context_size or self.info.context_size
            case ResumeKeyFound():
                self.key = event.key
            case _:
                pass
        return True

    def _allow(self, ask: PermissionRequested) -> bytes:
        response = Response(request_id=ask.request_id, verdict="allow")
        return wire.response_line(ask.request_id, response_to(ask, ask.input, response))

    def _input_of(self, ask: Ask, translator: ClaudeTranslator) -> dict[str, Any]:
        return ask.input if isinstance(ask, PermissionRequested) else translator.input_of_request(ask.request_id)

    def _conclude(self, to: To, result: LineResult) -> None:
        """The job's turn goes on where Claude still has texts for it, unless it was interrupted."""
        translator = self._translator(to)
        if to == "job" and self._router.awaits_more and not self.is_interrupted:
            return
        ended = translator.end_of_turn() or TurnEnded(translator.text)
        self._tools.clear()
        if to == "job" and self._job is not None:
            result.job.append(ended)
            self.forget_job()
            return
        if self.agent_turn_id or (isinstance(ended, TurnEnded) and ended.text):
            result.agent_turn = [*self._begin_agent_turn([*result.agent_turn, ended])]
        self._of_agent_turn = ClaudeTranslator(self.key)

    def end_agent_turn(self) -> None:
        self.agent_turn_id = ""

    # --- the process itself ----------------------------------------------------------------------------------------

    def _read_process_line(self, event: wire.Event) -> LineResult:
        if isinstance(event, wire.CommandLifecycle):
            taken = event.command_uuid if event.state == "started" else ""
            return LineResult(taken=taken, cancelled=event.command_uuid if event.state == "cancelled" else "")
        if isinstance(event, wire.User):  # a replay: claude repeats what it takes up
            return LineResult(taken=event.uuid or "")
        if not isinstance(event, wire.ControlResponse):
            return LineResult()
        said = cast("dict[str, Any]", event.response.response) if isinstance(event.response.response, dict) else {}
        result = LineResult()
        match event.response.request_id:
            case name if name == INITIALIZE:
                self.info.models = _model_names(said.get("models"))
                if self._job is not None and self.info.models:
                    result.job = [ModelsOffered(self.info.model, self.info.models)]
            case name if name == CONTEXT_USAGE:
                self.info.context_used = _number(said.get("totalTokens"))
                self.info.context_size = _number(said.get("maxTokens"))
            case _ if isinstance(said.get("model"), str):
                self.info.model = str(said["model"])
            case _:
                pass
        return result


def ends_the_process(event: EngineEvent) -> bool:
    """After these failures the process can't be trusted, would go on without us, or would answer nothing more (its
    budget is that of the process, not of a turn): a new one must take over."""
    return isinstance(event, TurnFailed) and event.code in _ENDING


def _model_names(said: Any) -> tuple[str, ...]:
    if not isinstance(said, list):
        return ()
    models = [cast("dict[str, Any]", one) for one in cast("list[Any]", said) if isinstance(one, dict)]
    return tuple(name for one in models if isinstance(name := one.get("value"), str) and name)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
