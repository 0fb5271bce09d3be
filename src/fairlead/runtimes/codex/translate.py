"""Codex's events to engine events. Pure: totals of earlier turns are brought by the caller."""

from typing import Any, Final, Literal, cast

import msgspec

from fairlead.core import engine
from fairlead.core.engine import (
    INTERRUPTED,
    Diagnostic,
    EngineEvent,
    ResumeKeyFound,
    TextDelta,
    ThinkingDelta,
    TodoItem,
    TodosChanged,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.runtimes.codex import wire
from fairlead.runtimes.environment import PASSED_ON
from fairlead.runtimes.faults import classify, failure_from, missing_variable
from fairlead.runtimes.images import NewImages
from fairlead.runtimes.lines import Unread, diagnostics, read_line
from fairlead.runtimes.translator import Exit, exit_failure, misshapen_failure

SUMMARY: Final = 500
_TODO_LISTS: Final = frozenset({"todo_list", "plan"})
_NO_TOOL: Final = frozenset({"agent_message", "reasoning", "error", *_TODO_LISTS, ""})


class CodexTranslator:
    """`resumed` is the thread that was asked for: another one that comes back is a refusal, never an answer.
    `before` is what the thread had used when the turn began, None where nobody knows. `withheld` names variables that
    are set where Fairlead runs and that codex did not get."""

    def __init__(
        self,
        resumed: str | None = None,
        before: wire.Usage | None = None,
        *,
        withheld: frozenset[str] = frozenset(),
    ) -> None:
        self._resumed = resumed
        self._before = before
        self._withheld = withheld
        self.thread_id = ""
        self.total: wire.Usage | None = None
        self._texts: list[str] = []
        self._open: dict[str, str] = {}
        self._problem = ""
        self._is_complete = False
        self._failure: engine.TurnFailed | None = None
        self._images = NewImages()

    @property
    def text(self) -> str:
        """The last message is the answer; in the messages before it codex says what it will do."""
        return self._texts[-1] if self._texts else ""

    def feed(self, line: bytes) -> list[EngineEvent]:
        event = read_line(line, wire.decoder, wire.KINDS)
        match event:
            case Unread(why="misshapen"):
                return [Diagnostic(event.excerpt), misshapen_failure(event, self.text)]
            case Unread():
                return diagnostics(event)
            case wire.ThreadStarted():
                return self._begin_thread(event.thread_id)
            case wire.TurnStarted():
                return []
            case wire.ItemStarted() | wire.ItemUpdated() if event.item.type in _TODO_LISTS:
                return [_todos(event.item)]
            case wire.ItemStarted() | wire.ItemUpdated():
                return self._start_tool(event.item)
            case wire.ItemCompleted():
                return self._complete_item(event.item)
            case wire.TurnCompleted():
                return self._complete_turn(event.usage)
            case wire.TurnFailure():
                self._failure = self._make_failure(event.error.message if event.error else "")
                return []
            case wire.ErrorEvent():
                # The error may be harmless ("Reconnecting... 1/5"): only turn.failed or the exit says that it was not.
                self._problem = event.message or self._problem
                return [Diagnostic(event.message)]

    def finish(self, end: Exit) -> list[EngineEvent]:
        if self._failure is not None and not end.interrupted:
            return [self._failure]
        if self._is_complete:
            if not self.thread_id:
                return [_fail(Code.E_ADAPTER_SESSION_KEY_MISSING, "codex did not report a thread id.", self.text)]
            return [TurnEnded(self.text)]
        if end.interrupted:
            return [TurnEnded(self.text, INTERRUPTED)]
        if end.returncode != 0:
            return [self._exit_failure(end)]
        return [_fail(Code.E_ADAPTER_MISSING_RESULT, "codex ended without completing its turn.", self.text)]

    def _exit_failure(self, end: Exit) -> engine.TurnFailed:
        if self._problem and classify(end.stderr).code is not Code.E_RESUME_GONE:
            return failure_from(self._problem, otherwise=Code.E_CLI_EXIT_NONZERO, text=self.text)
        return exit_failure(end, self.text)

    def _begin_thread(self, thread_id: str) -> list[EngineEvent]:
        if self._resumed is not None and thread_id != self._resumed:
            # Nothing ran yet: codex silently starts a new thread where it does not know the id.
            gone = f"codex was asked to resume {self._resumed} and began {thread_id} instead. It was stopped."
            return [_fail(Code.E_RESUME_GONE, gone, "")]
        self.thread_id = thread_id
        return [ResumeKeyFound(thread_id)]

    def _start_tool(self, item: wire.Item) -> list[EngineEvent]:
        if item.type in _NO_TOOL or item.id in self._open:
            return []
        self._open[item.id] = item.type
        return [ToolStarted(item.id, *_name_tool(item))]

    def _complete_item(self, item: wire.Item) -> list[EngineEvent]:
        match item.type:
            case "agent_message":
                self._texts.append(item.text)
                return [TextDelta(item.text)] if item.text else []
            case "reasoning":
                return [ThinkingDelta(item.text)] if item.text else []
            case "error":
                return [Diagnostic(item.message)]
            case kind if kind in _TODO_LISTS:
                return [_todos(item)]
            case _:
                began = self._start_tool(item)
                self._open.pop(item.id, None)
                return [*began, *self._pictures(item), ToolEnded(item.id, _is_success(item), _summary(item))]

    def _pictures(self, item: wire.Item) -> list[EngineEvent]:
        content: Any = cast("dict[str, Any]", item.result).get("content") if isinstance(item.result, dict) else None
        blocks = cast("list[Any]", content) if isinstance(content, list) else []
        return [image for block in blocks if (image := self._images.take(block)) is not None]

    def _complete_turn(self, usage: wire.Usage | None) -> list[EngineEvent]:
        """The end comes with codex's own word for it: the process may take its time to leave. A thread that was never
        named fails at the exit, which is the last chance to name it."""
        self._is_complete = True
        end = [TurnEnded(self.text)] if self.thread_id else []
        return [*self._tell_usage(usage), *end]

    def _tell_usage(self, usage: wire.Usage | None) -> list[EngineEvent]:
        if usage is None:
            return []
        self.total = usage
        if self._before is None:
            return [Diagnostic("The thread's earlier usage is unknown, so the usage of this turn is unknown.")]
        return [usage_between(self._before, usage)]

    def _make_failure(self, words: str) -> engine.TurnFailed:
        failure = failure_from(words or self._problem or "codex gave no reason.", text=self.text)
        name = missing_variable(failure.message)
        if name not in self._withheld:
            return failure
        remedy = f"{name} is set for Fairlead, but agents do not get it: add {name} to {PASSED_ON}."
        return msgspec.structs.replace(failure, message=f"{failure.message} {remedy}")


def usage_between(before: wire.Usage, after: wire.Usage) -> UsageReported:
    return UsageReported(
        input_tokens=max(0, after.input_tokens - before.input_tokens),
        output_tokens=max(0, after.output_tokens - before.output_tokens),
        cached_tokens=max(0, after.cached_input_tokens - before.cached_input_tokens),
    )


def _fail(code: Code, message: str, text: str) -> engine.TurnFailed:
    return engine.TurnFailed(code, message, text)


def _todos(item: wire.Item) -> TodosChanged:
    """Codex says of each item whether it is completed; the plan of newer versions also says which is at work."""
    listed = cast("list[Any]", item.items) if isinstance(item.items, list) else []
    items = [cast("dict[str, Any]", one) for one in listed if isinstance(one, dict)]
    return TodosChanged(tuple(TodoItem(text, _todo_status(one)) for one in items if (text := _todo_text(one))))


def _todo_text(one: dict[str, Any]) -> str:
    said = one.get("text") or one.get("step")
    return said.strip() if isinstance(said, str) else ""


def _todo_status(one: dict[str, Any]) -> Literal["pending", "in_progress", "completed"]:
    status = one.get("status")
    if one.get("completed") is True or status == "completed":
        return "completed"
    return "in_progress" if status in {"in_progress", "inProgress"} else "pending"


def _name_tool(item: wire.Item) -> tuple[str, dict[str, Any]]:
    match item.type:
        case "command_execution":
            return "Bash", {"command": item.command}
        case "file_change":
            return "Edit", {"changes": item.changes}
        case "web_search":
            return "WebSearch", {"query": item.query}
        case "mcp_tool_call":
            return f"mcp__{item.server}__{item.tool}", {"arguments": item.arguments}
        case other:
            return other, {}


def _is_success(item: wire.Item) -> bool:
    return item.status not in {"failed", "declined"} and item.exit_code in {None, 0}


def _summary(item: wire.Item) -> str:
    if item.aggregated_output:
        return item.aggregated_output[-SUMMARY:]
    return "" if item.exit_code in {None, 0} else f"exit code {item.exit_code}"


class _RolloutLine(msgspec.Struct):
    payload: Any = None


_rollout = msgspec.json.Decoder(_RolloutLine)


def total_in_rollout(lines: list[bytes]) -> wire.Usage | None:
    """The last total in codex's own record of a thread, None if it has none."""
    for line in reversed(lines):
        if b'"token_count"' not in line:
            continue
        try:
            payload = _rollout.decode(line).payload
            return msgspec.convert(payload["info"]["total_token_usage"], wire.Usage)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
            continue
    return None
