"""Standing rules: what a person has allowed in a project until they take it back, and which request a rule covers.

1. A rule is about one project and one tool.
2. A prefix rule covers a command that begins with its words and is one plain command. A command with a shell operator,
   an expansion, or an assignment before it is covered by no prefix rule, however it begins.
3. A program that runs whatever its arguments say gets no prefix rule: such a command is allowed word for word or not at
   all.
4. A rule about a path covers files inside the project. Names that begin with a dot are never covered: the settings of
   agents and git's hooks have such names.

Pure: the caller has resolved links and `..` in every path.
"""

from collections.abc import Iterable
from posixpath import dirname
from typing import Final, Literal

import msgspec

from fairlead.core.ids import SessionKeyText

RuleKind = Literal["prefix", "exact", "path", "directory"]

EDITING_TOOLS: Final = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
SHELL: Final = "Bash"
LONGEST_RULE: Final = 500
"""A rule is shown in full before it is made, and nobody reads a longer one."""

MOST_RULES: Final = 200
"""In one project."""


class RuleOffer(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A rule that a person may make. `text` is, by kind: the first words of a command; the whole command, or the whole
    input of another tool; a file of the project; a directory of the project."""

    tool: str
    kind: RuleKind
    text: str


class StandingRule(msgspec.Struct, omit_defaults=True, gc=False, kw_only=True):
    """A rule of the state. `session_key` is the session in which it was made: who may see that may see the rule."""

    number: int
    project: str
    offer: RuleOffer
    session_key: SessionKeyText
    person: str
    made_at: str
    uses: int = 0
    used_at: str = ""


class RuleSubject(msgspec.Struct, frozen=True):
    """A permission request as far as rules are about it. `detail` is what the person is shown. `command` is there for a
    shell that runs in the project's directory, `path` for an edit of one file of the project, relative to it."""

    tool: str
    detail: str = ""
    command: str = ""
    path: str = ""


def covers(rule: RuleOffer, subject: RuleSubject) -> bool:
    if rule.tool != subject.tool:
        return False
    match rule.kind:
        case "prefix":
            return _prefix_of(subject) == tuple(rule.text.split(" "))
        case "exact":
            return rule.text == _exact_text(subject)
        case "path":
            return bool(subject.path) and subject.path == rule.text and not _is_hidden(subject.path)
        case "directory":
            return subject.path.startswith(f"{rule.text}/") and not _is_hidden(subject.path)


def offers_for(subject: RuleSubject) -> tuple[RuleOffer, ...]:
    """The rules that a person may make of this request, the narrowest first."""
    if subject.tool in EDITING_TOOLS:
        return _path_offers(subject)
    prefix = _prefix_of(subject) if subject.tool == SHELL else None
    if prefix is not None:
        return (RuleOffer(subject.tool, "prefix", " ".join(prefix)),)
    text = _exact_text(subject)
    return (RuleOffer(subject.tool, "exact", text),) if text is not None and _can_be_shown(text) else ()


def _prefix_of(subject: RuleSubject) -> tuple[str, ...] | None:
    from fairlead.core.shell_commands import narrow_prefix, plain_words  # noqa: PLC0415 - only agents that ask need it

    words = plain_words(subject.command)
    return None if words is None else narrow_prefix(words)


def find_rule(rules: Iterable[StandingRule], project: str, subject: RuleSubject) -> StandingRule | None:
    """The oldest rule of the project that covers the request."""
    return next((rule for rule in rules if rule.project == project and covers(rule.offer, subject)), None)


def _exact_text(subject: RuleSubject) -> str | None:
    """None where nothing can be allowed word for word: a shell elsewhere, and edits, which rules know by path."""
    if subject.tool in EDITING_TOOLS:
        return None
    if subject.tool == SHELL:
        return subject.command or None
    return subject.detail


def _path_offers(subject: RuleSubject) -> tuple[RuleOffer, ...]:
    path, directory = subject.path, dirname(subject.path)
    if not path or _is_hidden(path) or not _can_be_shown(path):
        return ()
    file = RuleOffer(subject.tool, "path", path)
    return (file, RuleOffer(subject.tool, "directory", directory)) if directory else (file,)


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


def _can_be_shown(text: str) -> bool:
    """In full, and as it is: chats show a backtick as something else."""
    return len(text) <= LONGEST_RULE and text.isprintable() and "`" not in text
