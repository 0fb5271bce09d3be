"""What the terminal says, in Traditional Chinese."""
# ruff: noqa: RUF001  # one sentence, one line; full-width punctuation is how it is written

from typing import Final

TERMINAL: Final = {
    "greeting": "Fairlead · {user}[[ · {project}]][[ · {tool}]] · /help 列出指令，Ctrl-D 離開",
    "help": "列出指令",
    "quit": "離開（或按 Ctrl-D）",
    "leave_hint": "再按一次 Ctrl-C 或按 Ctrl-D 離開。",
    "while_away": "你離開期間：{job}",
    "waits_for_answer": "{job} 正在等待你的回答。",
    "asked_before_restart": "{job} 在重新啟動前提出了這個問題；你的回答會開始新的工作。",
    "no_response": "Fairlead 在 {url} 沒有回應：{reason}。",
    "trying_again": "Fairlead 沒有回應，正在重試…",
    "nothing_sent": "沒有送出任何內容，請稍後再試。",
    "job_goes_on": "工作會在那裡繼續，回覆會為你保留。",
    "answer_not_sent": "你的回答沒有送達。",
    "not_cancelled": "無法取消工作。",
    "connection_lost": "連線中斷，正在重新連線…",
    "connection_back": "連線已恢復。",
    "waiting_behind": "前面還有 {position} 個，等待中…",
    "waiting_for_turn": "正在等待輪到它…",
    "working": "{tool} 正在工作…（Ctrl-C 取消）",
    "agent_working": "代理程式正在工作…（Ctrl-C 取消）",
    "cancelling": "正在取消…（再按一次 Ctrl-C 離開）",
    "answer": "回覆",
    "image": "圖片（{media_type}，{size} 位元組）",
    "question_stays_open": "問題會保留，尚未回答。",
    "settled": "已處理[[（{person}）]]：{outcome}",
    "type_answer": "輸入回答，然後按 Enter",
    "type_numbers": "以逗號分隔的編號，或自己的回答，然後按 Enter",
    "press_number": "[1-{count}]，或輸入自己的回答後按 Enter",
    "empty_input": "標準輸入沒有任何內容。",
    "denied_in_pipe": "已拒絕：沒有可以詢問的終端機。在終端機中使用 `fairlead chat` 就會詢問你。",
}
