"""What a person sees in the terminal: settled lines above, one living part below. Knows no server and no keys.

What is finished is printed once and never touched again; only the unfinished block, the running tools and an open
question are drawn again. So nothing flickers, and the scroll-back reads like a transcript. An agent's words are data:
they neither move the cursor nor set the title nor turn a line around.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment
from rich.spinner import Spinner
from rich.style import Style
from rich.syntax import Syntax
from rich.text import Text

from fairlead.api.wire import QuestionInfo
from fairlead.channels.terminal.questions import QuestionPrompt, question_heading
from fairlead.render.durations import duration
from fairlead.render.questions import says_no_more, tier_change, without_headers
from fairlead.render.safe_text import one_line, visible_lines

_SUMMARY: Final = 200
PROMPT: Final = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


class Tail:
    """The last lines of something too high for the screen."""

    def __init__(self, inner: RenderableType, lines_kept: int) -> None:
        self._inner = inner
        self._lines_kept = max(1, lines_kept)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._inner, options, pad=False)
        for line in lines[-self._lines_kept :]:
            yield from line
            yield Segment.line()


class Screen:
    def __init__(self, console: Console) -> None:
        self.console = console
        self._live: Live | None = None
        self._tail = ""
        self._note = ""
        self._hint = ""
        self._typed = ""
        self._spinner = Spinner("dots")
        self._began = 0.0
        self._tools: dict[str, str] = {}
        self._asking: QuestionPrompt | None = None

    # --- the living part --------------------------------------------------------------------------------------------

    def begin(self, note: str, hint: str = "") -> None:
        """`hint` says which keys there are, for as long as this part lives."""
        self._tail, self._note, self._hint, self._asking = "", note, hint, None
        self._tools.clear()
        self._began = self.console.get_time()
        self._spinner = Spinner("dots")  # kept for the whole turn: a new one begins at its first picture again
        self.resume()

    def resume(self) -> None:
        # Drawn from the event loop alone: with rich's own thread, a line printed meanwhile lands behind the spinner.
        self._live = Live(get_renderable=self._live_part, console=self.console, transient=True, auto_refresh=False)
        self._live.start(refresh=True)

    def draw(self) -> None:
        if self._live is not None:
            self._live.refresh()

    def end(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def show_typed(self, text: str) -> None:
        """What the person has typed meanwhile."""
        self._typed = text
        self.draw()

    def ring_bell(self) -> None:
        if self.console.is_terminal and not self.console.is_dumb_terminal:
            self.console.bell()

    def flow(self, whole: str, tail: str) -> None:
        """What has become whole is settled; the tail lives on. Drawn first, so that no line is there twice."""
        self._tail = tail
        if whole.strip():
            self.draw()
            self.answer(whole)

    def note(self, words: str, hint: str | None = None) -> None:
        """What goes on now, and, where they have changed, which keys there are."""
        self._note = words
        self._hint = self._hint if hint is None else hint
        self.draw()

    def tool_started(self, tool_id: str, label: str) -> None:
        self._tools[tool_id] = label
        self.draw()

    def tool_ended(self, tool_id: str, *, ok: bool, summary: str) -> None:
        label = self._tools.pop(tool_id, "")
        self.draw()
        if label or summary:
            mark = Text("  ✓ ", "green") if ok else Text("  ✗ ", "red")
            line = mark + Text(visible_lines(label), "dim") + Text(_indent_behind(one_line(summary, _SUMMARY)), "dim")
            self.console.print(line, no_wrap=True, overflow="ellipsis")

    def asking(self, asking: QuestionPrompt | None) -> None:
        self._asking = asking
        self.draw()

    def _live_part(self) -> RenderableType:
        parts: list[RenderableType] = []
        if self._tail.strip():
            parts.append(Tail(_markdown(self._tail), self.console.height - 6 - len(self._tools)))
        parts.extend(Text(f"  🔧 {visible_lines(label)} …", "cyan") for label in self._tools.values())
        if self._asking is not None:
            hint = self._asking.hint_during_a_line if self._typed else self._asking.hint
            parts.append(Padding(Text(hint, "bold yellow"), (0, 2)))
            if self._asking.typed:
                parts.append(Padding(Text(f"> {self._asking.typed}"), (0, 2)))
        elif self._note:
            self._spinner.update(text=self._progress_line())
            parts.append(self._spinner)
        if self._typed:
            parts.append(Text(f"{PROMPT}{visible_lines(self._typed)}", "bold"))
        return Group(*parts)

    def _progress_line(self) -> Text:
        elapsed = duration(self.console.get_time() - self._began)
        words = " · ".join(filter(None, (f"{self._note} {elapsed}", self._hint)))
        return Text(words, "dim", no_wrap=True, overflow="ellipsis")

    # --- settled lines ----------------------------------------------------------------------------------------------

    def answer(self, markdown: str) -> None:
        if markdown.strip():
            self.console.print(_markdown(markdown))
            self.console.print()

    def say(self, words: str, style: str = "dim") -> None:
        self.console.print(Text(visible_lines(words), style))

    def lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.say(line, "")

    def fault(self, sentence: str) -> None:
        self.say(sentence, "bold red")

    def file(self, name: str, path: str) -> None:
        """A file on this machine. The link is our own, to a path that we made; where a terminal knows no links, the
        path stands there to be copied."""
        shown = Text("  📎 ") + Text(visible_lines(name)) + Text("  ")
        self.console.print(shown + Text(path, Style(link=Path(path).as_uri())), soft_wrap=True)

    def rule(self, title: str) -> None:
        self.console.print(Rule(Text(title), style="dim"))

    def question(self, question: QuestionInfo, lang: str, item_number: int = 0) -> None:
        if item_number == 0:
            self.say(f"? {question_heading(question, lang)}", "bold yellow")
        if question.kind == "permission" and not says_no_more(question):
            self.console.print(Padding(Text(visible_lines(question.title)), (0, 2)))
        if question.kind == "plan":
            self.console.print(Padding(_markdown(question.detail), (0, 2)))
        elif question.detail:
            self.console.print(Padding(Text(visible_lines(question.detail)), (0, 4)))
        if question.diff:
            diff = without_headers(question.diff, question.detail)
            self.console.print(Padding(Syntax(visible_lines(diff), "diff", word_wrap=True), (0, 4)))
        for line in tier_change(question, lang):
            self.say(f"  {line}", "bold red")
        if question.items:
            self._item(question, item_number)

    def _item(self, question: QuestionInfo, number: int) -> None:
        item = question.items[number]
        if item.text != question.title:
            self.say(f"  {item.text}", "yellow")
        for key, option in enumerate(item.options, 1):
            line = Text(f"  {key}. ", "bold") + Text(visible_lines(option.label))
            self.console.print(line + Text(_indent_behind(option.description), "dim"))


def _indent_behind(words: str) -> str:
    return f"  {visible_lines(words)}" if words else ""


def _markdown(text: str) -> Markdown:
    # An agent's link shows where it leads: many terminals know no hidden targets, and a hidden target may mislead.
    markdown = Markdown(visible_lines(text), code_theme="ansi_dark", hyperlinks=False)
    for token in (child for block in markdown.parsed for child in block.children or ()):
        if token.type == "softbreak":
            token.type = "hardbreak"  # agents end a line where they mean it, as people do in a chat
    return markdown
