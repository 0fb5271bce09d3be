"""The card at the end of a turn, in English."""

from typing import Final

CARD: Final = {
    "one_file": "1 file changed (+{added} -{removed}): {names}",
    "files": "{count} files changed (+{added} -{removed}): {names}",
    "context": "context {share}",
    "changes": "Changes",
    "undo": "Undo",
    "fork": "Fork",
}
