"""The card at the end of a turn, in Traditional Chinese."""
# ruff: noqa: RUF001  # full-width punctuation is how it is written

from typing import Final

CARD: Final = {
    "one_file": "變更了 1 個檔案（+{added} -{removed}）：{names}",
    "files": "變更了 {count} 個檔案（+{added} -{removed}）：{names}",
    "context": "上下文 {share}",
    "changes": "變更",
    "undo": "復原",
    "fork": "分支",
}
