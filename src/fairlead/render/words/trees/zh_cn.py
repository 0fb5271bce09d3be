"""What is said about the files of projects, in simplified Chinese."""
# ruff: noqa: RUF001  # full-width punctuation is how it is written

from typing import Final

TREES: Final = {
    "session": "此会话",
    "none": "{subject} 没有改动 {project} 的文件",
    "head": "{subject} 改动了 {project} 的 {count} 个文件 ({added} {removed})",
    "running": "这一轮仍在运行；这是文件现在的样子。",
    "late": "Fairlead 在这一轮结束前停止：在下次启动之前他人所做的改动也列在其中。",
    "cut": "差异过长，未完整显示。",
    "shared": "另一个会话同时在此目录中工作（{jobs}）：无法分辨哪处改动是谁做的。",
    "uncovered": "不在快照中，其改动不会显示：{names}",
    "undone": "已撤销 {jobs}：{count} 个文件恢复到之前的样子。/redo 可恢复这些改动。",
    "told": "智能体会在下一条提示中得知。",
    "redone": "已重做 {jobs}：{count} 个文件恢复到撤销之前的样子。",
    "taken_back": "已收回 {jobs} 的对话。文件保持不变。",
    "left": "因为快照中没有之前的样子，或有人在最后一刻改动，而保持原样：{names}",
    "set_back": "智能体会当作没有说过，继续下去。",
    "set_forward": "智能体又记得说过的话。",
    "cut_off": "Fairlead 曾在途中停止，现已完成。",
    "cut_off_failed": "Fairlead 在撤销 {jobs} 的途中停止，无法完成：{why}",
    "cut_off_open": "部分文件可能已撤销。/undo 或下次启动会继续。",
    "head_one": "{subject} 改动了 {project} 的 1 个文件 ({added} {removed})",
    "undone_one": "已撤销 {jobs}：1 个文件恢复到之前的样子。/redo 可恢复这些改动。",
    "redone_one": "已重做 {jobs}：1 个文件恢复到撤销之前的样子。",
}
