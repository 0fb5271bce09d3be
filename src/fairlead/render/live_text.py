"""What to show of a running turn: activity while tools work, then the clean answer. The caller brings time.

    quiet ──text──▶ holding ──settled──▶ showing ──tool──▶ working ──last tool ended──▶ quiet
                       └──────tool──────────────────────▶ working

Text that a tool follows was narration ("Let me look at the file …"), and goes. Nobody can know that when it
comes, so text is held until it has settled: a moment in which no tool started.
"""

from typing import Final

import msgspec

from fairlead.render.words import say

TOOL_LINE_SECONDS: Final = 5.0
FIRST_SETTLE_SECONDS: Final = 2.0
LATER_SETTLE_SECONDS: Final = 0.5  # after a tool an answer is likelier than another remark


class LiveTextView(msgspec.Struct, frozen=True):
    """What a person sees now. `changes_at` is when that changes although nothing new comes."""

    text: str = ""
    activity: str = ""
    tool_line: str = ""
    changes_at: float | None = None


class _Tool(msgspec.Struct, frozen=True):
    name: str
    label: str
    since: float


class LiveText:
    """One turn, as it is shown. Times are seconds of any clock that does not go back."""

    def __init__(self, *, tool_aware: bool = True, lang: str = "en") -> None:
        self._tool_aware = tool_aware
        self._lang = lang
        self._text: list[str] = []
        self._text_since: float | None = None
        self._narration = ""
        self._running: dict[str, _Tool] = {}
        self._last_tool: _Tool | None = None

    def add_text(self, delta: str, now: float) -> None:
        if self._text_since is None and delta.strip():
            self._text_since = now
        self._text.append(delta)

    def tool_started(self, tool_id: str, name: str, label: str, now: float) -> None:
        if self._tool_aware:
            self._narration = "".join(self._text).strip() or self._narration
            self._text.clear()
            self._text_since = None
        elif self._text:
            self._text.append("\n\n")
        self._last_tool = _Tool(name, label, now)
        self._running[tool_id] = self._last_tool

    def tool_ended(self, tool_id: str, now: float) -> None:
        """A tool that nobody saw start ends nothing."""
        if self._running.pop(tool_id, None) is not None and self._text:
            self._text_since = now

    def view(self, now: float) -> LiveTextView:
        text, settles_at = self._settled_text(now)
        line, goes_at = self._tool_line(now)
        due = [at for at in (settles_at, goes_at) if at is not None]
        return LiveTextView(text, self._activity(), line, min(due, default=None))

    def _settled_text(self, now: float) -> tuple[str, float | None]:
        """The text that may be shown, and else when it may be."""
        if not self._tool_aware:
            return "".join(self._text).strip(), None
        if self._text_since is None or self._running:
            return "", None
        wait = FIRST_SETTLE_SECONDS if self._last_tool is None else LATER_SETTLE_SECONDS
        settles_at = self._text_since + wait
        return ("".join(self._text).strip(), None) if now >= settles_at else ("", settles_at)

    def _tool_line(self, now: float) -> tuple[str, float | None]:
        if self._last_tool is None or now >= self._last_tool.since + TOOL_LINE_SECONDS:
            return "", None
        line = say(self._lang, "tool.line", tool=self._last_tool.name)
        return line, self._last_tool.since + TOOL_LINE_SECONDS

    def _activity(self) -> str:
        """The latest of the tools that run, and how many run beside it."""
        if not self._running:
            return ""
        label = next(reversed(self._running.values())).label
        others = len(self._running) - 1
        return say(self._lang, "tool.more", label=label, count=others) if others else label
