"""What is said about the files of projects, in traditional Chinese."""
# ruff: noqa: RUF001  # full-width punctuation is how it is written

from typing import Final

TREES: Final = {
    "session": "此工作階段",
    "none": "{subject} 沒有更動 {project} 的檔案",
    "head": "{subject} 更動了 {project} 的 {count} 個檔案 ({added} {removed})",
    "running": "這一輪仍在執行；這是檔案現在的樣子。",
    "late": "Fairlead 在這一輪結束前停止：在下次啟動之前他人所做的更動也列在其中。",
    "cut": "差異過長，未完整顯示。",
    "shared": "另一個工作階段同時在此目錄中工作（{jobs}）：無法分辨哪處更動是誰做的。",
    "uncovered": "不在快照中，其更動不會顯示：{names}",
    "undone": "已復原 {jobs}：{count} 個檔案回到之前的樣子。/redo 可恢復這些更動。",
    "told": "代理程式會在下一則提示中得知。",
    "redone": "已重做 {jobs}：{count} 個檔案回到復原之前的樣子。",
    "taken_back": "已收回 {jobs} 的對話。檔案保持不變。",
    "left": "因為快照中沒有之前的樣子，或有人在最後一刻更動，而保持原樣：{names}",
    "set_back": "代理程式會當作沒有說過，繼續下去。",
    "set_forward": "代理程式又記得說過的話。",
    "cut_off": "Fairlead 曾在途中停止，現已完成。",
    "cut_off_failed": "Fairlead 在復原 {jobs} 的途中停止，無法完成：{why}",
    "cut_off_open": "部分檔案可能已復原。/undo 或下次啟動會繼續。",
    "head_one": "{subject} 更動了 {project} 的 1 個檔案 ({added} {removed})",
    "undone_one": "已復原 {jobs}：1 個檔案回到之前的樣子。/redo 可恢復這些更動。",
    "redone_one": "已重做 {jobs}：1 個檔案回到復原之前的樣子。",
}
