"""What chat channels say, in traditional Chinese."""
# ruff: noqa: RUF001  # one sentence, one line; full-width punctuation is how it is written

from typing import Final

CHAT: Final = {
    "tokens": "{count} 個 token",
    "retry_button": "重試",
    "retried_by": "{person} 已重試，新工作為 {job}",
    "one_before": "前面還有 1 則",
    "some_before": "前面還有 {count} 則",
    "handed_off": "等待中：此工作階段已交給終端機。/handoff back 在這裡繼續。",
    "machine_away": "等待中：{machine} [[自 {since} 起]]沒有連線。/cancel 可撤回訊息。",
    "machine_lost": "{machine} 自 {since} 起沒有連線。工作在那裡繼續，恢復連線後會收到回答。",
    "machine_back": "{machine} 已重新連線。",
    "one_step": "1 步",
    "steps": "{count} 步",
    "todo_more": "還有 {count} 項",
    "reminder": "有一個問題已等待您回答 {elapsed}：{title}\n{link}",
    "choose_project": "請選擇專案，您的訊息隨後會傳送到該專案。",
    "project_chosen": "在 {project} 中工作，您的訊息已傳送。",
    "message_gone": "在 {project} 中工作。您的訊息已無法讀取，請重新傳送。",
    "somebody_elses": "只有寫這則訊息的人才能選擇。",
    "steer_button": "送入輪次",
}
