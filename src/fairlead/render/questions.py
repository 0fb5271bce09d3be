"""A question as a person must see it to decide: the tool, the whole command or path, the diff, the choices."""

from typing import Final

from fairlead.core.machines.places import machine_of, path_there
from fairlead.core.questions import QuestionFields
from fairlead.core.rules import RuleKind
from fairlead.render.rules import rule_words
from fairlead.render.safe_text import code_block, one_line, quote_inline
from fairlead.render.words import CATALOGUES, say

_OFFERS: Final[dict[RuleKind, str]] = {
    "prefix": "question.offer.prefix",
    "exact": "question.offer.exact",
    "path": "question.offer.path",
    "directory": "question.offer.directory",
}
_FILE_TOOLS: Final = frozenset({"Read", "Write", "Edit", "MultiEdit", "NotebookEdit"})
_LONGEST_PATH: Final = 1000


def question_text(question: QuestionFields, lang: str, project_path: str = "") -> str:
    """Files inside the project at `project_path` are named by their paths in it; a command is never changed. An agent
    on another machine is named with it."""
    machine = machine_of(project_path)
    match question.kind:
        case "permission":
            return _permission(question, lang, project_path)
        case "plan":
            return f"{say(lang, 'question.plan', machine=machine)}\n\n{question.detail}"
        case "question":
            return "\n\n".join(_item_lines(question, lang, machine))


def reminder_text(question: QuestionFields, elapsed: str, link: str, lang: str, machine: str = "") -> str:
    """What the question is about in one line, how long it has been open, and where to answer it."""
    tool = one_line(question.tool, 60)
    title = quote_inline(question.title, 200)
    words = f"{tool}: {title}" if tool else title
    words = f"{machine} · {words}" if machine else words
    return say(lang, "chat.reminder", elapsed=elapsed, title=words, link=link)


def _permission(question: QuestionFields, lang: str, project_path: str) -> str:
    """Each thing once: a path stands in the first line, and neither as a block of its own nor above its diff."""
    path = _path_of(question)
    tool = one_line(question.tool, 60)
    asked = f"{tool} {_shown_path(path, path_there(project_path))}" if path else tool
    parts = [say(lang, "question.permission", tool=asked, machine=machine_of(project_path))]
    if not says_no_more(question):
        parts.append(one_line(question.title, 300))
    if question.detail and not path:
        parts.append(code_block(question.detail))
    if question.diff:
        parts.append(code_block(without_headers(question.diff, question.detail), "diff"))
    return "\n".join([*parts, *tier_change(question, lang), *offered_rules(question, lang)])


def offered_rules(question: QuestionFields, lang: str) -> list[str]:
    """One line for each rule that the owner may make, with all that it would allow."""
    project = one_line(question.project, 60)
    lines: list[str] = []
    for offer in question.offers:
        rule = f"`{rule_words(offer)}`"  # a rule has no backtick and no line end, so it cannot break out
        lines.append(say(lang, _OFFERS[offer.kind], rule=rule, project=project))
    return lines


def without_offers(text: str, question: QuestionFields) -> str:
    """The text of a question in any language, without the rules at its end: once it is settled, "Always: …" would read
    as if somebody had allowed it."""
    for lang in CATALOGUES:
        offers = "\n".join(("", *offered_rules(question, lang)))
        if offers and text.endswith(offers):
            return text.removesuffix(offers)
    return text


def _path_of(question: QuestionFields) -> str:
    """The file that the permission is about; empty where it is about something else, or about more than its path."""
    is_line = "\n" not in question.detail and len(question.detail) <= _LONGEST_PATH
    is_file = question.tool in _FILE_TOOLS or f"+++ {question.detail}" in question.diff.splitlines()
    return question.detail if is_line and is_file else ""


def _shown_path(path: str, project_path: str) -> str:
    inside = path.removeprefix(f"{project_path}/") if len(project_path) > 1 else path
    return quote_inline(inside, _LONGEST_PATH)


def says_no_more(question: QuestionFields) -> bool:
    """A title that only repeats the tool, the command, or the name of the file."""
    title, detail = question.title.strip(), question.detail.strip()
    repeats = {"", f"Use {question.tool}?", question.tool, _path_of(question).rpartition("/")[2]}
    return title in repeats or (bool(detail) and detail in title)


def without_headers(diff: str, path: str) -> str:
    """A diff without the two lines that name its file, which stands above it."""
    headers = {f"--- {path}", f"+++ {path}"}
    return "\n".join(line for line in diff.splitlines() if line not in headers)


def tier_change(question: QuestionFields, lang: str) -> list[str]:
    """A line where the project's tier is another one than the one that a person last saw."""
    if not question.tier_before:
        return []
    before, now = one_line(question.tier_before, 200), one_line(question.tier, 200)
    return [say(lang, "question.tier_changed", before=before, now=now)]


def _item_lines(question: QuestionFields, lang: str, machine: str) -> list[str]:
    blocks = [] if question.budget_day else [say(lang, "question.choice", machine=machine)]
    for item in question.items:
        options = [
            f"{number}. {option.label}" + (f" — {option.description}" if option.description else "")
            for number, option in enumerate(item.options, 1)
        ]
        blocks.append("\n".join([f"**{item.text}**", *options]))
    return blocks
