"""What chat channels say, in simplified Chinese."""
# ruff: noqa: RUF001  # one sentence, one line; full-width punctuation is how it is written

from typing import Final

CHAT: Final = {
    "tokens": "{count} 个 token",
    "retry_button": "重试",
    "retried_by": "{person} 已重试，新任务为 {job}",
    "one_before": "前面还有 1 条",
    "some_before": "前面还有 {count} 条",
    "handed_off": "等待中：此会话已交给终端。/handoff back 在这里继续。",
    "machine_away": "等待中：{machine} [[自 {since} 起]]没有连接。/cancel 可撤回消息。",
    "machine_lost": "{machine} 自 {since} 起没有连接。任务在那里继续，恢复连接后会收到回答。",
    "machine_back": "{machine} 已重新连接。",
    "one_step": "1 步",
    "steps": "{count} 步",
    "todo_more": "还有 {count} 项",
    "reminder": "有一个问题已等待您回答 {elapsed}：{title}\n{link}",
    "choose_project": "请选择项目，您的消息随后会发送到该项目。",
    "project_chosen": "在 {project} 中工作，您的消息已发送。",
    "message_gone": "在 {project} 中工作。您的消息已无法读取，请重新发送。",
    "somebody_elses": "只有写这条消息的人才能选择。",
    "steer_button": "送入轮次",
}
