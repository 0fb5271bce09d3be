"""What chat channels say, in Japanese."""

from typing import Final

CHAT: Final = {
    "tokens": "{count} トークン",
    "retry_button": "再試行",
    "retried_by": "{person} が {job} として再試行しました",
    "one_before": "前に 1 件あります",
    "some_before": "前に {count} 件あります",
    "handed_off": "待機中です。このセッションはターミナルに引き渡されています。/handoff back でここで続けます。",
    "machine_away": "待機中: {machine} は[[ {since} から]]未接続です。/cancel で取り消せます。",
    "machine_lost": "{machine} は {since} から未接続です。処理はそこで続き、再接続後に回答が届きます。",
    "machine_back": "{machine} が再び接続しました。",
    "one_step": "1 ステップ",
    "steps": "{count} ステップ",
    "todo_more": "ほか {count} 件",
    "reminder": "{elapsed} 前から回答待ちの質問があります: {title}\n{link}",
    "choose_project": "プロジェクトを選ぶと、このメッセージがそこへ送られます。",
    "project_chosen": "{project} で作業します。メッセージを送りました。",
    "message_gone": "{project} で作業します。メッセージを読み取れないため、もう一度送ってください。",
    "somebody_elses": "メッセージを書いた本人だけが選べます。",
    "steer_button": "ターンに送る",
}
