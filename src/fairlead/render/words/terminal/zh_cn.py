"""What the terminal says, in Simplified Chinese."""
# ruff: noqa: RUF001  # one sentence, one line; full-width punctuation is how it is written

from typing import Final

TERMINAL: Final = {
    "greeting": "Fairlead · {user}[[ · {project}]][[ · {tool}]] · /help 列出命令，Ctrl-D 退出",
    "help": "列出命令",
    "quit": "退出（或按 Ctrl-D）",
    "leave_hint": "再按一次 Ctrl-C 或按 Ctrl-D 退出。",
    "while_away": "你离开期间：{job}",
    "waits_for_answer": "{job} 正在等待你的回答。",
    "asked_before_restart": "{job} 在重新启动前提出了这个问题；你的回答会开始新的任务。",
    "no_response": "Fairlead 在 {url} 没有响应：{reason}。",
    "trying_again": "Fairlead 没有响应，正在重试…",
    "nothing_sent": "没有发送任何内容，请稍后再试。",
    "job_goes_on": "任务会在那里继续，回复会为你保留。",
    "answer_not_sent": "你的回答没有送达。",
    "not_cancelled": "无法取消任务。",
    "connection_lost": "连接中断，正在重新连接…",
    "connection_back": "连接已恢复。",
    "waiting_behind": "前面还有 {position} 个，等待中…",
    "waiting_for_turn": "正在等待轮到它…",
    "working": "{tool} 正在工作…（Ctrl-C 取消）",
    "agent_working": "智能体正在工作…（Ctrl-C 取消）",
    "cancelling": "正在取消…（再按一次 Ctrl-C 退出）",
    "answer": "回复",
    "image": "图片（{media_type}，{size} 字节）",
    "question_stays_open": "问题会保留，尚未回答。",
    "settled": "已处理[[（{person}）]]：{outcome}",
    "type_answer": "输入回答，然后按 Enter",
    "type_numbers": "以逗号分隔的编号，或自己的回答，然后按 Enter",
    "press_number": "[1-{count}]，或输入自己的回答后按 Enter",
    "empty_input": "标准输入没有任何内容。",
    "denied_in_pipe": "已拒绝：没有可以询问的终端。在终端中使用 `fairlead chat` 就会询问你。",
}
