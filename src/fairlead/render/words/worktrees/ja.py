"""What people read about worktrees of sessions, in Japanese."""
# ruff: noqa: E501  # one sentence, one line; full-width punctuation is how it is written

from typing import Final

WORKTREES: Final = {
    "made": "このセッションは専用のワークツリーで作業します。ブランチ {branch}[[ ({target} から開始)]]",
    "shown": "ワークツリー {number} はブランチ {branch} にあります[[ (マージ先: {target})]]",
    "restored": "保管されていた内容からワークツリー {number} を作りました (ブランチ {branch})。コミットされていなかったものも、未コミットのまま戻っています。",
    "left_behind": "最後のコミットから始まります。プロジェクトの未コミットのファイル {count} 件は含まれません。",
    "submodules": "サブモジュールは、そこで `git submodule update --init` を実行するまで空のディレクトリです。",
    "nothing": "内容はすべてマージ済みです。",
    "uncommitted": "未コミット: {count} ファイル",
    "commits": "未マージ: {count} コミット",
    "missing": "ディレクトリがありません。誰かが削除または移動しました。/discard で手放せます (コミットは保管されます)。",
    "failed": "使用できません: {error} /worktree make で再試行、/discard で手放せます。",
    "list.none": "ワークツリーはありません。/worktree make でこのセッション用に作れます。",
    "list.kept": "破棄済みで保管中 (/worktree restore 番号 で戻せます):",
    "merged": "{branch} を {target} にマージしました: {commits} コミット、{files} ファイル",
    "merged_nothing": "マージするものはありません: {branch} のコミットはすべて {target} にあります。",
    "goes_on": "セッションはワークツリーで続きます。/discard で削除できます。",
    "conflict": "{branch} は {count} ファイルで {target} と競合しています。何も変更していません。エージェントに解決を依頼しました ({job})。終わったら確認して、もう一度 /merge を使ってください。",
    "discarded": "{branch} を破棄しました。セッションは今後プロジェクトのディレクトリで作業し、次のメッセージから新しい会話になります。",
    "kept": "{days} 日間は /worktree restore {number} で戻せます。git では {ref} として残っています",
    "stays": "作業が残っているため、ワークツリー (ブランチ {branch}) はそのままです。/merge か /discard で片付けられます。",
    "renewed": "ワークツリー {branch} には何も残っていないため、プロジェクトの最後のコミットから新しく作り直します。",
    "default_on": "{project} の新しいセッションには専用のワークツリーが与えられます",
    "default_off": "{project} の新しいセッションはプロジェクトのディレクトリで作業します",
    "notice.made": "🌿 ワークツリー {number} の準備ができました: ブランチ {branch}[[ ({target} から開始)]]。[[ プロジェクトの未コミットのファイル {count} 件は含まれません。]]",
    "notice.failed": "🌿 ワークツリー {number} ({branch}) は使用できません。{why}",
    "notice.merged": "🌿 中断されたマージを完了しました: {branch} は {target} に入りました ({count} コミット)。",
    "notice.stopped": "🌿 {branch} のマージは中断され、何もマージされていません。{why}[[ ({files})]]",
    "notice.discarded": "🌿 ワークツリー {number} ({branch}) を破棄しました。数日間は /worktree restore {number} で戻せます。",
}
