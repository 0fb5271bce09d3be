"""One turn of Claude: its events to engine events. Pure. The router says which turn an event belongs to."""

from typing import Any, Final, cast

from fairlead.core.engine import (
    INTERRUPTED,
    Diagnostic,
    EngineEvent,
    ModelsOffered,
    PointReached,
    RequestWithdrawn,
    ResumeKeyFound,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.runtimes.claude import wire
from fairlead.runtimes.claude.agent_requests import ask_of
from fairlead.runtimes.claude.limits import read_limits
from fairlead.runtimes.claude.todos import ClaudeTodos
from fairlead.runtimes.faults import failure_from
from fairlead.runtimes.images import NewImages
from fairlead.runtimes.lines import UNREADABLE, Unread, diagnostics, excerpt, why_unread
from fairlead.runtimes.translator import Exit, exit_failure, misshapen_failure

SUMMARY: Final = 500
_QUIET: Final = frozenset({"init", "status", "thinking_tokens", "task_updated", "task_progress"})
_LOGIN_RETRIES: Final = 2
_decode: Final = wire.decoder.decode
_TELLS_OF_MORE: Final[frozenset[type[wire.Event]]] = frozenset({wire.System, wire.Result})
"""Lines that tell whether more may come behind the answer."""


class ClaudeTranslator:
    """`key` is the session that was asked for. The first result is the answer; `-p` may add more of them. `spent` is
    what the session had cost before, None where nobody knows."""

    def __init__(self, key: str = "", *, spent: float | None = 0.0) -> None:
        self._key = key
        self.spent = spent
        self._streamed_text: list[str] = []
        self._streamed_thinking: list[str] = []
        self._words: list[str] = []
        self._answers: list[str] = []
        self._tools: dict[str, dict[str, Any]] = {}
        self._asked_inputs: dict[str, dict[str, Any]] = {}
        self._failure: TurnFailed | None = None
        self._was_aborted = False
        self._has_background_tasks = False
        self._stop_reason = ""
        self._point = ""
        self._context_used = 0
        self._images = NewImages()
        self._todos = ClaudeTodos()

    @property
    def text(self) -> str:
        """The answer so far: results, else what was said since the last tool."""
        return "\n\n".join(self._answers) if self._answers else "".join(self._words).strip()

    def input_of_request(self, request_id: str) -> dict[str, Any]:
        """The input of the tool call that a request is about."""
        return self._asked_inputs.get(request_id, {})

    def feed(self, line: bytes) -> list[EngineEvent]:
        """For a process that lives for this turn alone, as `finish` is."""
        try:
            event = _decode(line)
        except UNREADABLE as fault:
            return self.translate_unread(why_unread(line, wire.KINDS, fault))
        events = self.translate(event)
        if type(event) not in _TELLS_OF_MORE:  # as nearly every line, and `isinstance` would take longer
            return events
        if isinstance(event, wire.System) and event.subtype == "background_tasks_changed":
            self._has_background_tasks = bool(event.tasks)
        if isinstance(event, wire.Result) and self._is_certainly_last(event):
            events += filter(None, [self.end_of_turn()])
        return events

    def _is_certainly_last(self, result: wire.Result) -> bool:
        """More results may follow one, of background commands and sub-agents, and these are tools. So an answer that
        took none need not wait until the process has left. What became of a failure, its exit tells better."""
        is_of_prompt = result.origin is None or result.origin.kind != "task-notification"
        return is_of_prompt and self._failure is None and not (self._tools or self._has_background_tasks)

    def translate_unread(self, event: Unread) -> list[EngineEvent]:
        if event.why == "misshapen":
            return [Diagnostic(event.excerpt), misshapen_failure(event, self.text)]
        return diagnostics(event)

    def translate(self, event: wire.Event) -> list[EngineEvent]:
        if isinstance(event, wire.StreamEvent):  # nearly every line is one, and `match` would take longer
            said = self._partial(event)
            return said if event.session_id == self._key else self._tell_key(event.session_id, said)
        match event:
            case wire.Assistant():
                said = self._assistant(event)
            case wire.User():
                said = self._user(event)
            case wire.System():
                return self._system(event)
            case wire.Result():
                return self._result(event)
            case wire.ControlRequest():
                return self._translate_request(event)
            case wire.ControlCancel():
                return [RequestWithdrawn(event.request_id)]
            case wire.RateLimit():
                return read_limits(event.rate_limit_info)
            case wire.CommandLifecycle() | wire.ControlResponse():
                return []
        return self._tell_key(event.session_id, said)

    def finish(self, end: Exit) -> list[EngineEvent]:
        """For a process that lives for this turn alone."""
        ended = self.end_of_turn(is_interrupted=end.interrupted)
        if ended is not None:
            return [ended]
        if end.interrupted:
            return [TurnEnded(self.text, INTERRUPTED)]
        if end.returncode != 0:
            return [exit_failure(end, self.text)]
        return [TurnFailed(Code.E_ADAPTER_MISSING_RESULT, "claude ended without a result.", self.text)]

    def end_of_turn(self, *, is_interrupted: bool = False) -> TurnEnded | TurnFailed | None:
        """What the results so far amount to, None if there was none."""
        if self._was_aborted or (is_interrupted and self._failure is not None):
            return TurnEnded(self.text, INTERRUPTED)
        if self._failure is not None and not self._answers:
            return self._failure
        return TurnEnded(self.text, self._stop_reason) if self._answers else None

    # --- what is said ----------------------------------------------------------------------------------------------

    def _tell_key(self, session_id: str, events: list[EngineEvent]) -> list[EngineEvent]:
        if not session_id or session_id == self._key:
            return events
        self._key = session_id
        return [ResumeKeyFound(session_id), *events]

    def _assistant(self, event: wire.Assistant) -> list[EngineEvent]:
        self._move_point(event)
        content = event.message.content
        if event.is_api_error_message or isinstance(content, str):
            return []  # claude tells the error again, and better, in the result
        is_sub_agent = event.parent_tool_use_id is not None
        if event.message.usage is not None and not is_sub_agent:
            self._context_used = _context_of(event.message.usage)
        parent_id = event.parent_tool_use_id or ""
        return [said for block in content for said in self._block(block, parent_id)]

    def _block(self, block: wire.Block, parent_id: str) -> list[EngineEvent]:
        """`parent_id` is the tool that started the sub-agent which speaks; empty for the agent itself."""
        is_sub_agent = bool(parent_id)
        match block.type:
            case "text":
                return [] if is_sub_agent else self._whole_text(block.text)
            case "thinking":
                return [] if is_sub_agent else self._whole_thinking(block.thinking)
            case "tool_use":
                return self._start_tool(block, parent_id)
            case "image":
                return self._pictures([{"type": "image", "source": block.source}])
            case "redacted_thinking" | "server_tool_use":
                return []
            case other:
                return [Diagnostic(f"a content block of the kind {other!r}")]

    def _partial(self, event: wire.StreamEvent) -> list[EngineEvent]:
        """Pieces of a block, which then comes whole as well: only what is new of it is shown."""
        if event.parent_tool_use_id is not None:
            return []
        delta = event.event.delta
        if delta is None:
            is_start = event.event.type == "content_block_start"
            return self._pictures([event.event.content_block]) if is_start else []
        if delta.type == "text_delta" and (text := delta.text):
            self._streamed_text.append(text)
            self._words.append(text)
            return [TextDelta(text)]
        if delta.type == "thinking_delta" and delta.thinking:
            self._streamed_thinking.append(delta.thinking)
            return [ThinkingDelta(delta.thinking)]
        return []

    def _whole_text(self, text: str) -> list[EngineEvent]:
        new = text.removeprefix("".join(self._streamed_text))
        self._streamed_text.clear()
        if not new:
            return []
        self._words.append(new)
        return [TextDelta(new)]

    def _whole_thinking(self, text: str) -> list[EngineEvent]:
        new = text.removeprefix("".join(self._streamed_thinking))
        self._streamed_thinking.clear()
        return [ThinkingDelta(new)] if new else []

    # --- what is done ----------------------------------------------------------------------------------------------

    def _start_tool(self, block: wire.Block, parent_id: str) -> list[EngineEvent]:
        tool_input = cast("dict[str, Any]", block.input) if isinstance(block.input, dict) else {}
        self._tools[block.id] = tool_input
        self._words.clear()
        todos = [] if parent_id else self._todos.start_tool(block.id, block.name, tool_input)
        return [ToolStarted(block.id, block.name, tool_input, parent_id), *todos]

    def _move_point(self, event: wire.Assistant | wire.User) -> None:
        """Claude can resume a talk at any entry of its own; what a sub-agent said is none."""
        if event.uuid and event.parent_tool_use_id is None:
            self._point = event.uuid

    def _user(self, event: wire.User) -> list[EngineEvent]:
        self._move_point(event)
        content = event.message.content
        if event.is_replay or isinstance(content, str):
            return []
        results = [block for block in content if block.type == "tool_result"]
        return [said for block in results for said in self._end_tool(block)]

    def _end_tool(self, block: wire.Block) -> list[EngineEvent]:
        content: Any = block.content
        blocks = cast("list[Any]", content) if isinstance(content, list) else []
        words = content if isinstance(content, str) else _texts(blocks)
        ended = ToolEnded(block.tool_use_id, not block.is_error, words[:SUMMARY])
        return [*self._pictures(blocks), ended, *self._todos.end_tool(block.tool_use_id, words, ok=ended.ok)]

    def _pictures(self, blocks: list[Any]) -> list[EngineEvent]:
        return [image for block in blocks if (image := self._images.take(block)) is not None]

    def _translate_request(self, event: wire.ControlRequest) -> list[EngineEvent]:
        request = event.request
        if request.subtype != "can_use_tool":
            return [Diagnostic(f"a control request of the kind {request.subtype!r}")]
        said = cast("dict[str, Any]", request.input) if isinstance(request.input, dict) else {}
        tool_input = said or self._tools.get(request.tool_use_id or "", {})
        self._asked_inputs[event.request_id] = tool_input
        return [ask_of(event.request_id, request, tool_input)]

    # --- how it goes -----------------------------------------------------------------------------------------------

    def _system(self, event: wire.System) -> list[EngineEvent]:
        key = event.session_id if isinstance(event.session_id, str) else ""
        match event.subtype if isinstance(event.subtype, str) else "":
            case "init":
                named: list[EngineEvent] = [ModelsOffered(event.model)] if isinstance(event.model, str) else []
                return self._tell_key(key, named)
            case "api_retry":
                return self._tell_key(key, self._api_retry(event))
            case kind if kind in _QUIET:
                return self._tell_key(key, [])
            case kind:
                words = event.message or event.content or ""
                return self._tell_key(key, [Diagnostic(f"{kind}: {excerpt(str(words).encode(errors='replace'))}")])

    def _api_retry(self, event: wire.System) -> list[EngineEvent]:
        words = f"{event.error} (HTTP {event.error_status})"
        is_login = isinstance(event.error_status, int) and event.error_status in {401, 403}
        if is_login and isinstance(event.attempt, int) and event.attempt >= _LOGIN_RETRIES:
            # Claude would go on for minutes, and a wrong key does not become right by waiting.
            return [TurnFailed(Code.E_CLI_NOT_LOGGED_IN, f"The model's API refuses the login: {words}.", self.text)]
        return [Diagnostic(f"claude tries its request again: {words}")]

    def _result(self, event: wire.Result) -> list[EngineEvent]:
        self._stop_reason = event.stop_reason or event.subtype
        text = self._result_text(event)
        images = self._pictures(cast("list[Any]", event.result) if isinstance(event.result, list) else [])
        if event.is_error or event.subtype.startswith("error"):
            self._record_failure(event, text)
        else:
            # An empty result counts too: the turn has ended, perhaps after a tool alone.
            self._answers = [answer for answer in (*self._answers, text) if answer] or [""]
        point = [PointReached(self._point)] if self._point else []
        return self._tell_key_unless_refused(event, [*images, self._usage(event), *point])

    def _tell_key_unless_refused(self, event: wire.Result, events: list[EngineEvent]) -> list[EngineEvent]:
        """When claude refuses to resume, it repeats the id it was asked for: that is no resume key."""
        if self._failure is not None and self._failure.code is Code.E_RESUME_GONE:
            return events
        return self._tell_key(event.session_id, events)

    def _result_text(self, event: wire.Result) -> str:
        if isinstance(event.result, str):
            return event.result.strip()
        if isinstance(event.result, list):
            return _texts(cast("list[Any]", event.result)).strip()
        return ""

    def _record_failure(self, event: wire.Result, text: str) -> None:
        if (event.terminal_reason or "").startswith("aborted"):
            self._was_aborted = True
            return
        words = text or "; ".join(event.errors or ()) or f"claude's result is {event.subtype!r}."
        self._failure = failure_from(words, status=event.api_error_status, text=self.text)

    def _usage(self, event: wire.Result) -> UsageReported:
        usage = event.usage or wire.MessageUsage()
        windows = [model.context_window or 0 for model in (event.model_usage or {}).values()]
        return UsageReported(
            input_tokens=_context_of(usage),
            output_tokens=usage.output_tokens or 0,
            cached_tokens=usage.cache_read_input_tokens or 0,
            cost_usd=self._cost(event),
            context_used=self._context_used,
            context_size=max(windows, default=0),
        )

    def _cost(self, event: wire.Result) -> float:
        """`total_cost_usd` counts since the session began, also across a resume; the newer field counts this turn."""
        before, self.spent = self.spent, event.total_cost_usd or 0.0
        if event.model_usage_since_last_result is not None:
            return sum(model.cost or 0.0 for model in event.model_usage_since_last_result.values())
        return 0.0 if before is None else max(0.0, self.spent - before)


def _context_of(usage: wire.MessageUsage) -> int:
    return (usage.input_tokens or 0) + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)


def _texts(blocks: list[Any]) -> str:
    fields = [cast("dict[str, Any]", block) for block in blocks if isinstance(block, dict)]
    return "\n".join(said for block in fields if isinstance(said := block.get("text"), str))


class TextTranslator:
    """For `--output-format text`: whatever is printed is the answer."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def feed(self, line: bytes) -> list[EngineEvent]:
        text = line.decode(errors="replace")
        self._lines.append(text)
        return [TextDelta(text + "\n")]

    def finish(self, end: Exit) -> list[EngineEvent]:
        text = "\n".join(self._lines).strip()
        if end.interrupted:
            return [TurnEnded(text, INTERRUPTED)]
        if end.returncode != 0:
            # Claude writes its errors to either stream.
            return [exit_failure(Exit(end.returncode, end.stderr.strip() or text), text)]
        if not text:
            return [TurnFailed(Code.E_ADAPTER_MISSING_RESULT, "claude ended without output.")]
        return [TurnEnded(text)]
