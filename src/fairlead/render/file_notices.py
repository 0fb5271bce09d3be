"""What is said of a worktree or of an undo unasked. Their words are loaded with the first such notice. Pure."""

from fairlead.core.trees import UndoNotice
from fairlead.core.worktrees import WorktreeNotice


def describe_worktree(notice: WorktreeNotice, lang: str) -> str:
    from fairlead.render.worktrees import worktree_notice  # noqa: PLC0415 - see above

    return worktree_notice(notice, lang)


def describe_undo(notice: UndoNotice, lang: str) -> str:
    from fairlead.render.changes import undo_notice  # noqa: PLC0415 - see above

    return undo_notice(notice, lang)
