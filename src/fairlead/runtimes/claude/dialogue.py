"""Both sides of a talk with a long-lived Claude: what each line means, for whom, and what to say back. Pure."""

from typing import Any, Final, Literal, cast

import msgspec

from fairlead.core.decide.questions import narrow_rule
from fairlead.core.engine import (
    Ask,
    Diagnostic,
    EngineEvent,
    ModelsOffered,
    PermissionRequested,
    PlanProposed,
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
from fairlead.runtimes.claude.routing import Router
from fairlead.runtimes.claude.translate import ClaudeTranslator
from fairlead.runtimes.lines import UNREADABLE, why_unread
from fairlead.runtimes.translator import is_end

INITIALIZE: Final = "fairlead-initialize"
CONTEXT_USAGE: Final = "fairlead-context"
# They accompany a turn and do not show that one has begun.
_BESIDE: Final = Diagnostic | ModelsOffered | ResumeKeyFound | UsageReported

To = Literal["job", "unasked"]


class Heard(msgspec.Struct):
    """What one line gave: events for the job, events of a turn that Claude began, lines to write back."""

    job: list[EngineEvent] = []
    unasked: list[EngineEvent] = []
    reply: list[bytes] = []


class Known(msgspec.Struct):
    """What is known of the process, for whoever asks how it is."""

    model: str = ""
    models: tuple[str, ...] = ()
    context_used: int = 0
    context_size: int = 0


class Dialogue:
    """`key` is the talk's id. One job's turn at a time; beside it Claude may have turns of its own, which get
    names that begin with `turn_prefix`. `spent` is what the talk had cost before, None where nobody knows."""

    def __init__(self, key: str, turn_prefix: str = "", *, spent: float | None = 0.0) -> None:
        self.key = key
        self._spent = spent
        self._turn_prefix = turn_prefix
        self._own_turns = 0
        self.known = Known()
        self.allowed: set[str] = set()
        self.has_used_tools = False
        self.has_been_granted = False
        self.unasked_turn = ""
        self._router = Router()
        self._job: ClaudeTranslator | None = None
        self._own = ClaudeTranslator(key)
        self._asks: dict[str, tuple[Ask, dict[str, Any]]] = {}
        self._tools: set[str] = set()

    @property
    def is_waiting(self) -> bool:
        """Silence is no sign of a hang: a tool runs, or a person is asked."""
        return bool(self._tools or self._asks)

    @property
    def has_work_of_its_own(self) -> bool:
        return bool(self.unasked_turn or self._router.background_tasks or self._asks)

    def begin(self, prompt_uuid: str, allowed: tuple[str, ...] = ()) -> None:
        self._job = ClaudeTranslator(self.key)
        self._router.expect(prompt_uuid)
        self.allowed.update(allowed)
        self.has_used_tools = self.has_been_granted = False

    def hear(self, line: bytes) -> Heard:
        try:
            event = wire.decoder.decode(line)
        except UNREADABLE as fault:
            unread = why_unread(line, wire.KINDS, fault)
            return self._to(self._job_or_own(), (self._job or self._own).unread(unread))
        belongs = self._router.route(event)
        if belongs == "process":
            return self._about_process(event)
        translator = self._translator(belongs)
        if isinstance(event, wire.StreamEvent):  # nearly every line is one, and nothing below concerns it
            return self._to(belongs, translator.translate(event))
        translator.spent = self._spent  # the talk's costs are counted over all its turns
        heard = self._to(belongs, translator.translate(event))
        self._spent = translator.spent
        match event:
            case wire.Result():
                self._conclude(belongs, heard)
            case wire.ControlRequest() if event.request.subtype != "can_use_tool":
                # Unanswered it would wait for ever.
                heard.reply.append(wire.refusal_line(event.request_id, f"{event.request.subtype} is not supported"))
            case _:
                pass
        return heard

    def answer(self, answer: Response) -> bytes | None:
        """The line that carries a person's answer, None if nobody waits for it any more."""
        waiting = self._asks.pop(answer.request_id, None)
        if waiting is None:
            return None
        ask, tool_input = waiting
        if answer.verdict == "allow":
            self.has_been_granted = True
            if answer.remember and isinstance(ask, PermissionRequested):
                self.allowed.add(narrow_rule(ask))
        return wire.answer_line(answer.request_id, response_to(ask, tool_input, answer))

    def approves_plan(self, answer: Response) -> bool:
        ask, _ = self._asks.get(answer.request_id, (None, None))
        return answer.verdict == "allow" and isinstance(ask, PlanProposed)

    def forget_job(self) -> None:
        self._job = None
        self._router.forget()

    # --- who gets it -----------------------------------------------------------------------------------------------

    def _job_or_own(self) -> To:
        return "job" if self._job is not None else "unasked"

    def _translator(self, to: To) -> ClaudeTranslator:
        return self._job if to == "job" and self._job is not None else self._own

    def _to(self, to: To, events: list[EngineEvent]) -> Heard:
        heard = Heard()
        if not events:
            return heard
        translator = self._translator(to)
        kept = [event for event in events if self._takes_note(event, translator, heard)]
        if translator is self._job:
            heard.job = kept
        else:
            heard.unasked = self._of_its_own(kept)
        return heard

    def _of_its_own(self, events: list[EngineEvent]) -> list[EngineEvent]:
        """A turn of its own begins with the first thing that is said or done in it."""
        if not self.unasked_turn:
            if all(isinstance(event, _BESIDE) for event in events):
                return []
            self._own_turns += 1
            self.unasked_turn = f"{self._turn_prefix}{self._own_turns}"
        return events

    def _takes_note(self, event: EngineEvent, translator: ClaudeTranslator, heard: Heard) -> bool:
        """Follows what is open. False where the event is settled here and goes no further."""
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
                heard.reply.append(self._granted(event))
                return False
            case PermissionRequested() | QuestionRequested() | PlanProposed():
                self._asks[event.request_id] = (event, self._input_of(event, translator))
            case ModelsOffered():
                self.known.model = event.current
            case UsageReported():
                self.known.context_used = event.context_used or self.known.context_used
                self.known.context_size = event.context_size or self.known.context_size
            case ResumeKeyFound():
                self.key = event.key
            case _:
                pass
        return True

    def _granted(self, ask: PermissionRequested) -> bytes:
        answer = Response(request_id=ask.request_id, verdict="allow")
        return wire.answer_line(ask.request_id, response_to(ask, ask.input, answer))

    def _input_of(self, ask: Ask, translator: ClaudeTranslator) -> dict[str, Any]:
        return ask.input if isinstance(ask, PermissionRequested) else translator.asked_input(ask.request_id)

    def _conclude(self, to: To, heard: Heard) -> None:
        translator = self._translator(to)
        ended = translator.end_of_turn() or TurnEnded(translator.text)
        self._tools.clear()
        if to == "job" and self._job is not None:
            heard.job.append(ended)
            self.forget_job()
            return
        if self.unasked_turn or (isinstance(ended, TurnEnded) and ended.text):
            heard.unasked = [*self._of_its_own([*heard.unasked, ended])]
        self._own = ClaudeTranslator(self.key)

    def end_own_turn(self) -> None:
        self.unasked_turn = ""

    # --- the process itself ----------------------------------------------------------------------------------------

    def _about_process(self, event: wire.Event) -> Heard:
        if not isinstance(event, wire.ControlResponse):
            return Heard()
        said = cast("dict[str, Any]", event.response.response) if isinstance(event.response.response, dict) else {}
        heard = Heard()
        match event.response.request_id:
            case name if name == INITIALIZE:
                self.known.models = _model_names(said.get("models"))
                if self._job is not None and self.known.models:
                    heard.job = [ModelsOffered(self.known.model, self.known.models)]
            case name if name == CONTEXT_USAGE:
                self.known.context_used = _number(said.get("totalTokens"))
                self.known.context_size = _number(said.get("maxTokens"))
            case _ if isinstance(said.get("model"), str):
                self.known.model = str(said["model"])
            case _:
                pass
        return heard


def ends_the_process(events: list[EngineEvent]) -> bool:
    """After these the talk can't be trusted, or would go on without us: a new process must take it up."""
    codes = {Code.E_ADAPTER_PARSE, Code.E_CLI_NOT_LOGGED_IN}
    return any(is_end(event) and isinstance(event, TurnFailed) and event.code in codes for event in events)


def _model_names(said: Any) -> tuple[str, ...]:
    if not isinstance(said, list):
        return ()
    models = [cast("dict[str, Any]", one) for one in cast("list[Any]", said) if isinstance(one, dict)]
    return tuple(name for one in models if isinstance(name := one.get("value"), str) and name)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
