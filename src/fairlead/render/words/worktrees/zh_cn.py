"""What people read about worktrees of sessions, in Simplified Chinese."""
# ruff: noqa: E501, RUF001  # one sentence, one line; full-width punctuation is how it is written

from typing import Final

WORKTREES: Final = {
    "made": "此会话现在在自己的工作树中工作，分支 {branch}[[（从 {target} 开始）]]",
    "shown": "工作树 {number} 在分支 {branch} 上[[，将合并到 {target}]]",
    "restored": "已用保留的内容建立工作树 {number}，分支 {branch}。原先未提交的内容也已恢复，仍未提交。",
    "left_behind": "它从最后一次提交开始：项目中 {count} 个未提交的文件不在其中。",
    "submodules": "在那里运行 `git submodule update --init` 之前，子模块是空目录。",
    "nothing": "其中的内容都已合并。",
    "uncommitted": "未提交：{count} 个文件",
    "commits": "未合并：{count} 个提交",
    "missing": "它的目录不见了：有人删除或移动了它。/discard 放弃它并保留其提交。",
    "failed": "无法使用：{error} /worktree make 再试一次，/discard 放弃它。",
    "list.none": "没有工作树。/worktree make 为此会话建立一个。",
    "list.kept": "已丢弃但仍保留（/worktree restore 编号 可恢复）：",
    "merged": "已把 {branch} 合并到 {target}：{commits} 个提交，{files} 个文件",
    "merged_nothing": "没有可合并的内容：{branch} 上提交的一切 {target} 都已有。",
    "goes_on": "会话继续在其工作树中进行。/discard 可将其移除。",
    "conflict": "{branch} 与 {target} 在 {count} 个文件上冲突。没有改动任何内容。已请智能体解决（{job}）；完成后请查看并再次使用 /merge。",
    "discarded": "已丢弃 {branch}。会话现在在项目目录中工作，下一条消息开始新的对话。",
    "kept": "{days} 天内可用 /worktree restore {number} 恢复；在 git 中是 {ref}",
    "stays": "工作树（分支 {branch}）里有内容，因此保留。用 /merge 或 /discard 处理。",
    "renewed": "工作树 {branch} 中没有剩余内容，会话将从项目的最后一次提交得到一个新的工作树。",
    "default_on": "{project} 中的新会话将有自己的工作树",
    "default_off": "{project} 中的新会话在项目目录中工作",
    "notice.made": "🌿 工作树 {number} 已就绪：分支 {branch}[[（从 {target} 开始）]]。[[项目中 {count} 个未提交的文件不在其中。]]",
    "notice.failed": "🌿 工作树 {number}（{branch}）无法使用。{why}",
    "notice.merged": "🌿 Fairlead 曾被中断，现已完成合并：{branch} 已并入 {target}（{count} 个提交）。",
    "notice.stopped": "🌿 {branch} 的合并被中断，没有合并任何内容。{why}[[（{files}）]]",
    "notice.discarded": "🌿 工作树 {number}（{branch}）已丢弃。几天内可用 /worktree restore {number} 恢复。",
}
