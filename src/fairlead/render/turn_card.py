"""The card at the end of a turn that changed files: which files, and the tests that its agent ran. Short enough for a
phone; names are shown as text that formats nothing. Pure."""

from collections.abc import Callable
from typing import Final

from fairlead.core.job_names import short_name
from fairlead.core.trees import ChangeSummary, FileChange
from fairlead.core.turn_reports import CheckRun, TurnReport
from fairlead.render.safe_text import one_line, quote_inline
from fairlead.render.words import say

NAMED_FILES: Final = 4
NAMED_CHECKS: Final = 3
_PATH: Final = 40

Quote = Callable[[str, int], str]
"""How a channel shows a text of somebody else on one line of at most so many characters."""


def card_lines(
    changed: ChangeSummary,
    report: TurnReport,
    lang: str,
    *,
    shared_with: tuple[str, ...] = (),
    quote: Quote = quote_inline,
) -> list[str]:
    """One line for the files, one for the tests, and one if another session may have made some of the changes."""
    lines = [files_line(changed, lang, quote)]
    if report.checks:
        lines.append(" · ".join(_check(run, quote) for run in report.checks[-NAMED_CHECKS:]))
    if shared_with:
        lines.append(say(lang, "tree.shared", jobs=", ".join(map(short_name, shared_with[:NAMED_FILES]))))
    return lines


def files_line(changed: ChangeSummary, lang: str, quote: Quote = quote_inline) -> str:
    named = changed.files[:NAMED_FILES]
    more = changed.total - len(named)
    names = ", ".join(_file(file, quote) for file in named) + (f" (+{more})" if more else "")
    key = "card.one_file" if changed.total == 1 else "card.files"
    return say(lang, key, count=changed.total, added=changed.added, removed=changed.removed, names=names)


def context_words(report: TurnReport, lang: str) -> str:
    """How much of the agent's context is used; empty where the agent does not say."""
    share = 100 * report.context_used / report.context_size if report.context_size else 0.0
    return say(lang, "card.context", share=f"{share:.0f}%") if share else ""


def _file(file: FileChange, quote: Quote) -> str:
    lines = "" if file.is_binary else f" +{file.added} -{file.removed}"
    return f"{quote(_end_of(file.path), _PATH)}{lines}"


def _end_of(path: str) -> str:
    """The end of a long path says more than its beginning."""
    shown = one_line(path, 1000)
    room = _PATH - 2  # a name that must be quoted takes two characters more
    return shown if len(shown) <= room else f"…{shown[1 - room :]}"


def _check(run: CheckRun, quote: Quote) -> str:
    result = f": {run.result}" if run.result else ""
    return f"{'✅' if run.ok else '❌'} {quote(run.command, _PATH)}{result}"
