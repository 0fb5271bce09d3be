"""Markdown that arrives in pieces: what is whole is drawn for good, the rest again with each piece. Pure."""

from fairlead.render.fences import scan


class MarkdownStream:
    """Collects an answer. Blocks end at blank lines outside of code blocks; a whole block never changes again."""

    def __init__(self) -> None:
        self.shown = ""
        self.tail = ""

    def add(self, text: str) -> str:
        """What has become whole by this piece, to be drawn for good."""
        self.tail += text
        return self._take(_end_of_settled_text(self.tail)) if "\n" in text else ""

    def flush(self) -> str:
        """Everything that is left, whole or not."""
        return self._take(len(self.tail))

    def missing_from(self, final: str) -> str:
        """What of the final answer has not been shown yet: nothing, its end, or, where the pieces told another
        story, all of it."""
        shown, whole = self.shown.strip(), final.strip()
        if shown.endswith(whole):
            return ""
        return whole.removeprefix(shown)

    def _take(self, end: int) -> str:
        part, self.tail = self.tail[:end], self.tail[end:]
        self.shown += part
        return part


def _end_of_settled_text(text: str) -> int:
    """The end of the last blank line that is outside of any code block."""
    settled = at = 0
    *whole, _unfinished = text.split("\n")
    for line in scan(whole):
        at += len(line.text) + 1
        if line.is_blank and line.after is None:
            settled = at
    return settled
