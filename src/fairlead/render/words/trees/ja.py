"""What is said about the files of projects, in Japanese."""

from typing import Final

TREES: Final = {
    "session": "このセッション",
    "none": "{subject} は {project} のファイルを変更していません",
    "head": "{subject} は {project} の {count} 個のファイルを変更しました ({added} {removed})",
    "running": "ターンはまだ実行中です。これは現在のファイルの状態です。",
    "late": "ターンが終わる前に Fairlead が停止しました。次の起動までに他の人が加えた変更も含まれます。",
    "cut": "差分が長すぎるため、途中までです。",
    "shared": "別のセッションが同時にこのディレクトリで作業していました ({jobs})。どの変更が誰のものかは分かりません。",
    "uncovered": "スナップショットに含まれず、変更が表示されないもの: {names}",
    "undone": "{jobs} を取り消しました: {count} 個のファイルが元の状態に戻りました。/redo で変更を戻せます。",
    "told": "エージェントには次のプロンプトで知らせます。",
    "redone": "{jobs} をやり直しました: {count} 個のファイルが取り消し前の状態に戻りました。",
    "taken_back": "{jobs} の会話を取り消しました。ファイルはそのままです。",
    "left": "以前の状態がスナップショットにない、または直前に誰かが変更したため、そのままにしたファイル: {names}",
    "set_back": "エージェントは、その会話がなかったものとして続けます。",
    "set_forward": "エージェントはその会話を再び覚えています。",
    "cut_off": "途中で Fairlead が止まりましたが、いま完了しました。",
    "cut_off_failed": "{jobs} の取り消しの途中で Fairlead が止まり、完了できません: {why}",
    "cut_off_open": "一部のファイルは取り消し済みかもしれません。/undo または次回の起動で続行します。",
    "head_one": "{subject} は {project} の 1 個のファイルを変更しました ({added} {removed})",
    "undone_one": "{jobs} を取り消しました: 1 個のファイルが元の状態に戻りました。/redo で変更を戻せます。",
    "redone_one": "{jobs} をやり直しました: 1 個のファイルが取り消し前の状態に戻りました。",
}
