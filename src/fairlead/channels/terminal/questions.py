"""A question and the keys that answer it. Pure: keys in, an answer out when it is complete."""

import msgspec

from fairlead.api.wire import QuestionInfo
from fairlead.core.engine import Verdict


class PromptResult(msgspec.Struct, frozen=True):
    verdict: Verdict
    chosen: dict[str, str] = {}
    for_session: bool = False

    def words(self) -> str:
        if self.chosen:
            return "; ".join(self.chosen.values())
        if self.verdict == "deny":
            return "no"
        return "yes, for this session" if self.for_session else "yes, once"


class QuestionPrompt:
    """One open question. `typed` is what stands in the line while an answer takes more than one key."""

    def __init__(self, question: QuestionInfo) -> None:
        self.question = question
        self.typed = ""
        self._chosen: dict[str, str] = {}

    @property
    def hint(self) -> str:
        """What can be pressed now."""
        match self.question.kind:
            case "permission":
                return "[y] allow once   [s] allow for this session   [n] no"
            case "plan":
                return "[y] go ahead   [n] no"
            case "question":
                return self._item_hint()

    def press(self, key: str) -> PromptResult | None:
        if self.question.kind == "question":
            return self._press_in_item(key)
        match key.lower():
            case "y":
                return PromptResult("allow")
            case "s" if self.question.kind == "permission":
                return PromptResult("allow", for_session=True)
            case "n":
                return PromptResult("deny")
            case _:
                return None

    @property
    def item_number(self) -> int:
        return len(self._chosen)

    def _item_hint(self) -> str:
        item = self.question.items[self.item_number]
        if not item.options:
            return "type your answer, then Enter"
        if item.several:
            return "numbers with commas, or your own words, then Enter"
        return f"[1-{len(item.options)}], or your own words and Enter"

    def _press_in_item(self, key: str) -> PromptResult | None:
        item = self.question.items[self.item_number]
        if key == "enter":
            return self._take(self._meant(self.typed.strip())) if self.typed.strip() else None
        if key == "backspace":
            self.typed = self.typed[:-1]
            return None
        at_once = not self.typed and not item.several and len(item.options) <= 9
        if at_once and key.isascii() and key.isdecimal() and 1 <= int(key) <= len(item.options):
            return self._take(item.options[int(key) - 1].label)
        if len(key) == 1 and key.isprintable():
            self.typed += key
        return None

    def _meant(self, typed: str) -> str:
        """Numbers mean options; anything else means itself."""
        options = self.question.items[self.item_number].options
        parts = [part.strip() for part in typed.split(",")]
        numbers = [int(part) for part in parts if part.isascii() and part.isdecimal()]
        if len(numbers) == len(parts) and all(1 <= n <= len(options) for n in numbers):
            return ", ".join(options[n - 1].label for n in numbers)
        return typed

    def _take(self, answer: str) -> PromptResult | None:
        self._chosen[self.question.items[self.item_number].text] = answer
        self.typed = ""
        done = self.item_number == len(self.question.items)
        return PromptResult("allow", dict(self._chosen)) if done else None
