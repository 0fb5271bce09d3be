"""The card at the end of a turn, in Simplified Chinese."""
# ruff: noqa: RUF001  # full-width punctuation is how it is written

from typing import Final

CARD: Final = {
    "one_file": "更改了 1 个文件（+{added} -{removed}）：{names}",
    "files": "更改了 {count} 个文件（+{added} -{removed}）：{names}",
    "context": "上下文 {share}",
    "changes": "更改",
    "undo": "撤销",
    "fork": "分叉",
}
