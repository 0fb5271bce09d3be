"""A question and the keys for a response. Pure: keys in, a response out when it is complete."""

import msgspec

from fairlead.api.wire import QuestionInfo
from fairlead.channels.terminal.keyboard import KEY_NAMES
from fairlead.core.engine import Verdict
from fairlead.render.questions import offered_rules
from fairlead.render.words import say


class PromptResult(msgspec.Struct, frozen=True):
    verdict: Verdict
    chosen: dict[str, str] = {}
    for_session: bool = False
    always: int = 0
    message: str = ""


def describe_response(response: PromptResult, question: QuestionInfo, lang: str) -> str:
    """The person's response, in the words of the buttons that other channels have."""
    if response.chosen:
        return "; ".join(response.chosen.values())
    if question.kind == "plan":
        return say(lang, "question.keep_planning" if response.verdict == "deny" else "question.approve")
    if response.verdict == "deny":
        denied = say(lang, "question.deny")
        return f"{denied}: {response.message}" if response.message else denied
    if response.always:
        return offered_rules(question, lang)[response.always - 1]
    return say(lang, "question.allow_session" if response.for_session else "question.allow_once")


def describe_outcome(question: QuestionInfo, lang: str) -> str:
    """How a question ended that got no response from this terminal."""
    match question.outcome:
        case "allow" | "deny" as verdict:
            return describe_response(PromptResult(verdict, message=question.message), question, lang)
        case "expired":
            return say(lang, "question.expired")
        case _:
            return question.outcome.replace("_", " ")


def question_heading(question: QuestionInfo, lang: str) -> str:
    match question.kind:
        case "permission":
            return say(lang, "question.permission", tool=question.tool or question.title, machine=question.machine)
        case "plan":
            return say(lang, "question.plan", machine=question.machine)
        case "question" if question.items:
            return f"{question.machine}: {question.title}" if question.machine else question.title
        case "question":
            return say(lang, "question.choice", machine=question.machine)


class QuestionPrompt:
    """One open question. `typed` is the text in the line while a response takes more than one key."""

    def __init__(self, question: QuestionInfo, lang: str) -> None:
        self.question = question
        self._lang = lang
        self.typed = ""
        self._is_giving_reason = False
        self._chosen: dict[str, str] = {}

    @property
    def hint_during_a_line(self) -> str:
        return say(self._lang, "terminal.line_first")

    @property
    def hint(self) -> str:
        """What can be pressed now."""
        match self.question.kind:
            case "permission" if self._is_giving_reason:
                return say(self._lang, "terminal.type_reason")
            case "permission":
                rules = [f"[{key}] {line}" for key, line in enumerate(offered_rules(self.question, self._lang), 1)]
                short = self._key_hint(y="allow_once", s="allow_session", n="deny", b="because")
                return "\n".join((short, *rules))
            case "plan":
                return self._key_hint(y="approve", n="keep_planning")
            case "question":
                return self._item_hint()

    def _key_hint(self, **words: str) -> str:
        return "   ".join(f"[{key}] {say(self._lang, f'question.{word}')}" for key, word in words.items())

    def takes(self, key: str) -> bool:
        """A paste is words: it goes where words are typed, and decides nothing."""
        return len(key) == 1 or key in KEY_NAMES or self._is_giving_reason or self.question.kind == "question"

    def press(self, key: str) -> PromptResult | None:
        if self.question.kind == "question":
            return self._press_in_item(key)
        if self._is_giving_reason:
            return self._press_in_reason(key)
        offers = len(self.question.offers)
        match key.lower():
            case number if number.isascii() and number.isdecimal() and 1 <= int(number) <= offers:
                return PromptResult("allow", always=int(number))
            case "b" if self.question.kind == "permission":
                self._is_giving_reason = True
                return None
            case "y":
                return PromptResult("allow")
            case "s" if self.question.kind == "permission":
                return PromptResult("allow", for_session=True)
            case "n":
                return PromptResult("deny")
            case _:
                return None

    def _press_in_reason(self, key: str) -> PromptResult | None:
        """Enter sends the words; without words, or with Escape, the keys are back."""
        if key == "enter" and self.typed.strip():
            return PromptResult("deny", message=self.typed.strip())
        if key in {"enter", "escape"} or (key == "backspace" and not self.typed):
            self._is_giving_reason, self.typed = False, ""
        elif key == "backspace":
            self.typed = self.typed[:-1]
        elif key not in KEY_NAMES:
            self.typed += key.replace("\n", " ")
        return None

    @property
    def item_number(self) -> int:
        return len(self._chosen)

    def _item_hint(self) -> str:
        item = self.question.items[self.item_number]
        if not item.options:
            return say(self._lang, "terminal.type_answer")
        if item.several:
            return say(self._lang, "terminal.type_numbers")
        return say(self._lang, "terminal.press_number", count=len(item.options))

    def _press_in_item(self, key: str) -> PromptResult | None:
        item = self.question.items[self.item_number]
        if key == "enter":
            return self._take(self._resolve_numbers(self.typed.strip())) if self.typed.strip() else None
        if key == "backspace":
            self.typed = self.typed[:-1]
            return None
        at_once = not self.typed and not item.several and len(item.options) <= 9
        if at_once and key.isascii() and key.isdecimal() and 1 <= int(key) <= len(item.options):
            return self._take(item.options[int(key) - 1].label)
        if key not in KEY_NAMES:
            self.typed += key.replace("\n", " ")
        return None

    def _resolve_numbers(self, typed: str) -> str:
        """Numbers mean options; anything else means itself."""
        options = self.question.items[self.item_number].options
        parts = [part.strip() for part in typed.split(",")]
        numbers = [int(part) for part in parts if part.isascii() and part.isdecimal()]
        if len(numbers) == len(parts) and all(1 <= n <= len(options) for n in numbers):
            return ", ".join(options[n - 1].label for n in numbers)
        return typed

    def _take(self, response: str) -> PromptResult | None:
        self._chosen[self.question.items[self.item_number].text] = response
        self.typed = ""
        done = self.item_number == len(self.question.items)
        return PromptResult("allow", dict(self._chosen)) if done else None
