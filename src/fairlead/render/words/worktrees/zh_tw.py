"""What people read about worktrees of sessions, in Traditional Chinese."""
# ruff: noqa: E501, RUF001  # one sentence, one line; full-width punctuation is how it is written

from typing import Final

WORKTREES: Final = {
    "made": "此工作階段現在在自己的工作樹中工作，分支 {branch}[[（從 {target} 開始）]]",
    "shown": "工作樹 {number} 在分支 {branch} 上[[，將合併到 {target}]]",
    "restored": "已用保留的內容建立工作樹 {number}，分支 {branch}。原先未提交的內容也已復原，仍未提交。",
    "left_behind": "它從最後一次提交開始：專案中 {count} 個未提交的檔案不在其中。",
    "submodules": "在那裡執行 `git submodule update --init` 之前，子模組是空目錄。",
    "nothing": "其中的內容都已合併。",
    "uncommitted": "未提交：{count} 個檔案",
    "commits": "未合併：{count} 個提交",
    "missing": "它的目錄不見了：有人刪除或移動了它。/discard 放棄它並保留其提交。",
    "failed": "無法使用：{error} /worktree make 再試一次，/discard 放棄它。",
    "list.none": "沒有工作樹。/worktree make 為此工作階段建立一個。",
    "list.kept": "已捨棄但仍保留（/worktree restore 編號 可復原）：",
    "merged": "已把 {branch} 合併到 {target}：{commits} 個提交，{files} 個檔案",
    "merged_nothing": "沒有可合併的內容：{branch} 上提交的一切 {target} 都已有。",
    "goes_on": "工作階段繼續在其工作樹中進行。/discard 可將其移除。",
    "conflict": "{branch} 與 {target} 在 {count} 個檔案上衝突。沒有改動任何內容。已請代理程式解決（{job}）；完成後請查看並再次使用 /merge。",
    "discarded": "已捨棄 {branch}。工作階段現在在專案目錄中工作，下一則訊息開始新的對話。",
    "kept": "{days} 天內可用 /worktree restore {number} 復原；在 git 中是 {ref}",
    "stays": "工作樹（分支 {branch}）裡有內容，因此保留。用 /merge 或 /discard 處理。",
    "renewed": "工作樹 {branch} 中沒有剩餘內容，工作階段將從專案的最後一次提交得到一個新的工作樹。",
    "default_on": "{project} 中的新工作階段將有自己的工作樹",
    "default_off": "{project} 中的新工作階段在專案目錄中工作",
    "notice.made": "🌿 工作樹 {number} 已就緒：分支 {branch}[[（從 {target} 開始）]]。[[專案中 {count} 個未提交的檔案不在其中。]]",
    "notice.failed": "🌿 工作樹 {number}（{branch}）無法使用。{why}",
    "notice.merged": "🌿 Fairlead 曾被中斷，現已完成合併：{branch} 已併入 {target}（{count} 個提交）。",
    "notice.stopped": "🌿 {branch} 的合併被中斷，沒有合併任何內容。{why}[[（{files}）]]",
    "notice.discarded": "🌿 工作樹 {number}（{branch}）已捨棄。幾天內可用 /worktree restore {number} 復原。",
}
