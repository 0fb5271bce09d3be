"""What the terminal says, in Japanese."""
# ruff: noqa: RUF001  # one sentence, one line; full-width punctuation is how it is written

from typing import Final

TERMINAL: Final = {
    "greeting": "Fairlead · {user}[[ · {project}]][[ · {tool}]] · /help でコマンド一覧、Ctrl-D で終了",
    "help": "コマンドの一覧を表示する",
    "quit": "終了する（Ctrl-D でも可）",
    "leave_hint": "もう一度 Ctrl-C、または Ctrl-D で終了します。",
    "while_away": "不在の間に: {job}",
    "waits_for_answer": "{job} が回答を待っています。",
    "asked_before_restart": "{job} が再起動の前に質問したものです。回答すると新しいジョブが始まります。",
    "no_response": "Fairlead が {url} で応答しません: {reason}。",
    "trying_again": "Fairlead が応答しません。再試行しています…",
    "nothing_sent": "何も送信されていません。しばらくしてからもう一度お試しください。",
    "job_goes_on": "ジョブはそのまま続き、応答は保管されます。",
    "answer_not_sent": "回答を送信できませんでした。",
    "not_cancelled": "ジョブを取り消せませんでした。",
    "connection_lost": "接続が切れました。再接続しています…",
    "connection_back": "接続が回復しました。",
    "waiting_behind": "{position} 件の後に待機中…",
    "waiting_for_turn": "順番を待っています…",
    "working": "{tool} が作業中…（Ctrl-C で取り消し）",
    "agent_working": "エージェントが作業中…（Ctrl-C で取り消し）",
    "cancelling": "取り消しています…（もう一度 Ctrl-C で終了）",
    "answer": "応答",
    "image": "画像（{media_type}、{size} バイト）",
    "question_stays_open": "質問は未回答のまま残ります。",
    "settled": "回答済み[[（{person}）]]: {outcome}",
    "type_answer": "回答を入力して Enter",
    "type_numbers": "番号をカンマ区切りで、または自由に入力して Enter",
    "press_number": "[1-{count}]、または自由に入力して Enter",
    "empty_input": "標準入力から何も届きませんでした。",
    "denied_in_pipe": "拒否しました: 質問できる端末がありません。端末で `fairlead chat` を使うと質問されます。",
}
