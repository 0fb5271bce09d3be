"""The card at the end of a turn, in Japanese."""
# ruff: noqa: RUF001  # full-width punctuation is how it is written

from typing import Final

CARD: Final = {
    "one_file": "1 ファイルを変更（+{added} -{removed}）：{names}",
    "files": "{count} ファイルを変更（+{added} -{removed}）：{names}",
    "context": "コンテキスト {share}",
    "changes": "変更点",
    "undo": "元に戻す",
    "fork": "フォーク",
}
