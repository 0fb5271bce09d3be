"""Gemini's events to engine events, for stream-json and for json mode. Pure."""

from typing import Any, Final, cast

import msgspec

from fairlead.core.engine import (
    INTERRUPTED,
    Diagnostic,
    EngineEvent,
    ModelsOffered,
    ResumeKeyFound,
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.runtimes.faults import failure_from
from fairlead.runtimes.gemini import wire
from fairlead.runtimes.lines import Unread, diagnostics, excerpt, read_line
from fairlead.runtimes.translator import Exit, exit_failure, misshapen_failure

SUMMARY: Final = 500
_NOT_LOGGED_IN: Final = 41
_HARMLESS_WARNINGS: Final = ("warning:", "[startup]", "ripgrep is not available", "yolo mode is enabled")
TOOL_NAMES: Final = {
    "run_shell_command": "Bash",
    "read_file": "Read",
    "read_many_files": "Read",
    "list_directory": "Glob",
    "write_file": "Write",
    "replace": "Edit",
    "glob": "Glob",
    "grep_search": "Grep",
    "search_file_content": "Grep",
    "google_web_search": "WebSearch",
    "web_fetch": "WebFetch",
}


def http_status_of(returncode: int | None) -> int | None:
    """Gemini ends with the HTTP status modulo 256: 429 becomes 173."""
    if returncode is None:
        return None
    return 401 if returncode == _NOT_LOGGED_IN else returncode + 256 if 144 <= returncode <= 255 else None


def classify_exit(end: Exit, text: str) -> TurnFailed:
    loud = [line for line in end.stderr.splitlines() if not line.strip().lower().startswith(_HARMLESS_WARNINGS)]
    quiet = Exit(end.returncode, "\n".join(loud), interrupted=end.interrupted)
    return exit_failure(quiet, text, status=http_status_of(end.returncode))


def check_resumed(resumed: str | None, session_id: str) -> TurnFailed | None:
    if resumed is None or session_id == resumed:
        return None
    gone = f"gemini was asked to resume {resumed} and began {session_id} instead. It was stopped."
    return TurnFailed(Code.E_RESUME_GONE, gone)


class StreamTranslator:
    def __init__(self, resumed: str | None = None) -> None:
        self._resumed = resumed
        self._session_id = ""
        self._text: list[str] = []
        self._result: wire.TurnResult | None = None
        self._problem = ""

    @property
    def text(self) -> str:
        return "".join(self._text).strip()

    def feed(self, line: bytes) -> list[EngineEvent]:
        event = read_line(line, wire.decoder, wire.KINDS)
        match event:
            case Unread(why="misshapen"):
                return [Diagnostic(event.excerpt), misshapen_failure(event, self.text)]
            case Unread():
                return diagnostics(event)
            case wire.Init():
                return self._init(event)
            case wire.ChatMessage():
                return self._message(event)
            case wire.ToolCall():
                # What was said before a tool is narration; the answer is what comes after the last one.
                self._text.clear()
                name = TOOL_NAMES.get(event.tool_name, event.tool_name)
                return [ToolStarted(event.tool_id, name, _as_dict(event.parameters))]
            case wire.ToolResult():
                return [_end_tool(event)]
            case wire.ErrorReport():
                self._problem = event.message or self._problem
                return [Diagnostic(event.message)]
            case wire.TurnResult():
                self._result = event
                return [] if event.stats is None else [_usage(event.stats)]

    def finish(self, end: Exit) -> list[EngineEvent]:
        result = self._result
        if result is not None and result.status == "success" and end.returncode == 0:
            return [self._conclude_success()]
        if end.interrupted:
            return [TurnEnded(self.text, INTERRUPTED)]
        if result is not None and result.status != "success":
            words = result.error.message if result.error else self._problem or f"gemini's result is {result.status!r}."
            return [failure_from(words, status=http_status_of(end.returncode), text=self.text)]
        if end.returncode != 0:
            return [classify_exit(end, self.text)]
        return [TurnFailed(Code.E_ADAPTER_MISSING_RESULT, "gemini ended without a result.", self.text)]

    def _conclude_success(self) -> TurnEnded | TurnFailed:
        if not self._session_id:
            return _no_key(self.text)
        if not self.text and self._problem:
            # Gemini calls it a success too when it gave up: "Loop detected, stopping execution".
            return TurnFailed(Code.E_AGENT_ERROR, self._problem)
        return TurnEnded(self.text)

    def _init(self, event: wire.Init) -> list[EngineEvent]:
        if not event.session_id:
            return [Diagnostic("gemini's init event has no session id.")]
        other = check_resumed(self._resumed, event.session_id)
        if other is not None:
            return [other]
        self._session_id = event.session_id
        models: list[EngineEvent] = [ModelsOffered(event.model)] if event.model else []
        return [ResumeKeyFound(event.session_id), *models]

    def _message(self, event: wire.ChatMessage) -> list[EngineEvent]:
        if event.role != "assistant" or not event.content:
            return []  # gemini repeats the person's prompt as well
        self._text.append(event.content)
        return [TextDelta(event.content)]


class JsonTranslator:
    """The whole answer as one object that may span lines, with other lines around it.

    This mode shows no tools. Where the tier lets them change something (`can_act`), nobody can say that none had
    started, so no failure may be tried again by itself.
    """

    def __init__(self, resumed: str | None = None, *, can_act: bool = False) -> None:
        self._resumed = resumed
        self._can_act = can_act
        self._lines: list[bytes] = []

    def feed(self, line: bytes) -> list[EngineEvent]:
        if self._lines or line.lstrip().startswith(b"{"):
            self._lines.append(line)
            return []
        return [Diagnostic(excerpt(line))] if line.strip() else []

    def finish(self, end: Exit) -> list[EngineEvent]:
        if end.interrupted:
            return [TurnEnded("", INTERRUPTED)]
        if end.returncode != 0:
            failure = self._failure(end)
            return [msgspec.structs.replace(failure, transient=failure.transient and not self._can_act)]
        whole = _decode_whole(self._lines)
        if isinstance(whole, Unread):
            return [Diagnostic(whole.excerpt), misshapen_failure(whole)]
        if whole is None:
            return [TurnFailed(Code.E_ADAPTER_MISSING_RESULT, "gemini ended without a result.")]
        if whole.error is not None:
            return [failure_from(whole.error.message)]
        return self._answer(whole)

    def _answer(self, whole: wire.Whole) -> list[EngineEvent]:
        text = (whole.response or "").strip()
        if not whole.session_id:
            return [_no_key(text)]
        other = check_resumed(self._resumed, whole.session_id)
        if other is not None:
            return [other]
        if whole.response is None:
            return [TurnFailed(Code.E_ADAPTER_MISSING_RESULT, "gemini's result has no response.")]
        return [ResumeKeyFound(whole.session_id), *_whole_usage(whole.stats), TurnEnded(text)]

    def _failure(self, end: Exit) -> TurnFailed:
        """In json mode the error is an object on standard error, among other lines."""
        start = end.stderr.find("{\n")
        whole = _decode_whole([end.stderr[start:].encode()]) if start >= 0 else None
        if isinstance(whole, wire.Whole) and whole.error is not None:
            return failure_from(whole.error.message, status=http_status_of(end.returncode))
        return classify_exit(end, "")


def _decode_whole(lines: list[bytes]) -> wire.Whole | Unread | None:
    """The longest run of lines from the first that is one object: something may be printed after it."""
    for last in range(len(lines), 0, -1):
        text = b"\n".join(lines[:last]).strip()
        if not text.endswith(b"}"):
            continue
        try:
            return wire.whole_decoder.decode(text)
        except msgspec.ValidationError as fault:
            return Unread("misshapen", excerpt(text), "json result", str(fault))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return None


def _no_key(text: str) -> TurnFailed:
    return TurnFailed(Code.E_ADAPTER_SESSION_KEY_MISSING, "gemini did not report a session id.", text)


def _usage(stats: wire.Stats) -> UsageReported:
    """Counts of this process alone, which is this turn alone: also after a resume."""
    return UsageReported(
        input_tokens=max(0, stats.input_tokens),
        output_tokens=max(0, stats.output_tokens),
        cached_tokens=max(0, stats.cached),
    )


def _whole_usage(stats: wire.WholeStats | None) -> list[EngineEvent]:
    tokens = [model.tokens for model in stats.models.values() if model.tokens] if stats else []
    if not tokens:
        return []
    return [
        UsageReported(
            input_tokens=sum(one.prompt for one in tokens),
            output_tokens=sum(one.candidates for one in tokens),
            cached_tokens=sum(one.cached for one in tokens),
        )
    ]


def _end_tool(event: wire.ToolResult) -> ToolEnded:
    output = event.output if isinstance(event.output, str) else ""
    return ToolEnded(event.tool_id, event.status != "error", output[-SUMMARY:])


def _as_dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
