"""What to show of a running turn: the steps done and the step at work, the agent's list of what it is going to do, its
sub-agents, then the clean answer. The caller brings time.

    quiet ──text──▶ holding ──settled──▶ showing ──tool──▶ working ──last tool ended──▶ quiet
                       └──────tool──────────────────────▶ working

Text that a tool follows was narration ("Let me look at the file …"), and goes. Nobody can know that when it
comes, so text is held until it has settled: a moment in which no tool started.
"""

from typing import Final

import msgspec

from fairlead.core.engine import TodoItem
from fairlead.render.words import say

TOOL_LINE_SECONDS: Final = 5.0
FIRST_SETTLE_SECONDS: Final = 2.0
LATER_SETTLE_SECONDS: Final = 0.5  # after a tool an answer is likelier than another remark
STEPS_KEPT: Final = 4


class LiveStep(msgspec.Struct, frozen=True):
    """One use of a tool, in words."""

    label: str
    is_running: bool = True
    ok: bool = True


class SubAgent(msgspec.Struct, frozen=True):
    """An agent that works for this one; `since` is when it began, `steps` counts the tools that it has used."""

    label: str
    since: float
    steps: int = 0


class LiveTextView(msgspec.Struct, frozen=True, kw_only=True):
    """What a person sees now. `steps` are the last ones that ended, then those that run; `steps_ended` counts all that
    ended. `changes_at` is when the view changes although nothing new comes."""

    text: str = ""
    tool_line: str = ""
    steps: tuple[LiveStep, ...] = ()
    steps_ended: int = 0
    sub_agents: tuple[SubAgent, ...] = ()
    todos: tuple[TodoItem, ...] = ()
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
        self._running: dict[str, _Tool] = {}
        self._last_tool: _Tool | None = None
        self._ended: list[LiveStep] = []
        self._steps_ended = 0
        self._sub_agents: dict[str, SubAgent] = {}
        self._of_sub_agent: dict[str, str] = {}
        self._todos: tuple[TodoItem, ...] = ()

    def add_text(self, delta: str, now: float) -> None:
        if self._text_since is None and delta.strip():
            self._text_since = now
        self._text.append(delta)

    def set_todos(self, items: tuple[TodoItem, ...]) -> None:
        self._todos = items

    def tool_started(self, tool_id: str, name: str, label: str, now: float) -> None:
        self._end_narration()
        self._last_tool = _Tool(name, label, now)
        self._running[tool_id] = self._last_tool

    def sub_agent_started(self, tool_id: str, name: str, label: str, now: float) -> None:
        self._end_narration()
        self._last_tool = _Tool(name, label, now)
        self._sub_agents[tool_id] = SubAgent(label, now)

    def _end_narration(self) -> None:
        if self._tool_aware:
            self._text.clear()
            self._text_since = None
        elif self._text:
            self._text.append("\n\n")

    def sub_agent_used_tool(self, tool_id: str, sub_agent_id: str) -> None:
        """A sub-agent's tools are steps of its own: the agent's own steps stay readable."""
        self._of_sub_agent[tool_id] = sub_agent_id
        at_work = self._sub_agents.get(sub_agent_id)
        if at_work is not None:
            self._sub_agents[sub_agent_id] = SubAgent(at_work.label, at_work.since, at_work.steps + 1)

    def tool_ended(self, tool_id: str, now: float, *, ok: bool = True) -> None:
        """A tool that nobody saw start ends nothing."""
        if self._of_sub_agent.pop(tool_id, None) is not None:
            return
        sub_agent = self._sub_agents.pop(tool_id, None)
        tool = self._running.pop(tool_id, None)
        label = tool.label if tool is not None else sub_agent.label if sub_agent is not None else ""
        if not label:
            return
        self._steps_ended += 1
        self._ended = [*self._ended, LiveStep(label, is_running=False, ok=ok)][-STEPS_KEPT:]
        if self._text:
            self._text_since = now

    def view(self, now: float) -> LiveTextView:
        text, settles_at = self._settled_text(now)
        line, goes_at = self._tool_line(now)
        due = [at for at in (settles_at, goes_at) if at is not None]
        return LiveTextView(
            text=text,
            tool_line=line,
            steps=(*self._ended, *(LiveStep(tool.label) for tool in list(self._running.values())[-STEPS_KEPT:])),
            steps_ended=self._steps_ended,
            sub_agents=tuple(self._sub_agents.values()),
            todos=self._todos,
            changes_at=min(due, default=None),
        )

    def _settled_text(self, now: float) -> tuple[str, float | None]:
        """The text that may be shown, and else when it may be."""
        if not self._tool_aware:
            return "".join(self._text).strip(), None
        if self._text_since is None or self._running or self._sub_agents:
            return "", None
        wait = FIRST_SETTLE_SECONDS if self._last_tool is None else LATER_SETTLE_SECONDS
        settles_at = self._text_since + wait
        return ("".join(self._text).strip(), None) if now >= settles_at else ("", settles_at)

    def _tool_line(self, now: float) -> tuple[str, float | None]:
        if self._last_tool is None or now >= self._last_tool.since + TOOL_LINE_SECONDS:
            return "", None
        line = say(self._lang, "tool.line", tool=self._last_tool.name)
        return line, self._last_tool.since + TOOL_LINE_SECONDS
