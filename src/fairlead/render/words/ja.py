"""Japanese. Where the bridge specification gives a sentence, it stands here word for word."""
# ruff: noqa: E501, RUF001  # one sentence, one line; full-width punctuation is how Japanese is written

from typing import Final

_ERRORS: Final = {
    "E_OWNER_ONLY": "オーナーと許可されたユーザーのみ利用できます。オーナーに追加を依頼してください。",
    "E_UNAUTHORIZED": "有効なトークンがありません。'Authorization: Bearer <token>' を付けて送信してください。",
    "E_NOT_IN_MANAGED_THREAD": "この会話に紐づくセッションがありません。"
    "/start を使うか、セッションのスレッドへ移動してください。",
    "E_PROJECT_NOT_FOUND": "プロジェクト[[ #{id}]][[ {project}]] が見つかりません。/projects で一覧を確認してください。",
    "E_PROJECT_EXISTS": "プロジェクト[[ {project}]] は既に存在します。別の名前にするか、既存のものを使ってください。",
    "E_INVALID_PATH": "指定されたパスが存在しません[[（{path}）]]。[[{suggestion} ではありませんか？]]"
    "ディレクトリの絶対パスを指定してください。",
    "E_INVALID_TOOLSET": "指定されたツールは使えません[[（{tools}）]]。[[利用可能: {available}。]]"
    "既定のツールを含めて、利用可能なツールを指定してください。",
    "E_TOOL_NOT_ENABLED": "このプロジェクトではツール[[ {tool}]] を使えません。[[使えるのは {enabled} です。]]"
    "/project list で確認して選び直してください。",
    "E_SESSION_NOT_FOUND": "セッション[[ {session}]] が見つかりません。/session list で一覧を確認してください。",
    "E_THREAD_ACCESS_FAILED": "スレッドがロック・削除されているか、アクセスできません。"
    "ロックを解除するか、/start で新しく始めてください。",
    "E_QUEUE_FULL": "このセッションのキューが満杯です[[（{limit} 件待機中）]]。"
    "応答を待つか、不要なものを /cancel してから再送してください。",
    "E_JOB_NOT_RETRYABLE": "ジョブ[[ {job}]] は再試行できません[[（状態: {state}）]]。"
    "再試行できるのは失敗または中断したジョブだけです。メッセージを送り直してください。",
    "E_CLI_TIMEOUT": "エージェントの処理が制限時間[[（{seconds} 秒）]]を超えました。"
    "/retry[[ {job}]] を使うか、作業を小さく分けてください。",
    "E_CLI_EXIT_NONZERO": "エージェントのプログラムがエラーで終了しました[[（終了コード {exit_code}）]]。"
    "ジョブのログを確認して /retry[[ {job}]] してください。",
    "E_CLI_NOT_FOUND": "エージェントのプログラム[[ {program}]] が見つかりません。"
    "`fairlead doctor` で確認してください。",
    "E_CLI_NOT_LOGGED_IN": "エージェントのプログラム[[ {program}]] にログインしていません。"
    "ログインしてから /retry[[ {job}]] してください。",
    "E_ADAPTER_PARSE": "エージェントの出力を解釈できませんでした。"
    "`fairlead doctor` でバージョンを確認し、/retry[[ {job}]] してください。",
    "E_ADAPTER_MISSING_RESULT": "エージェントが結果を返さずに終了しました。"
    "ジョブのログを確認して /retry[[ {job}]] してください。",
    "E_ADAPTER_SESSION_KEY_MISSING": "エージェントがセッションIDを返さなかったため、再開できません。"
    "`fairlead doctor` でバージョンを確認し、/retry[[ {job}]] してください。",
    "E_RESUME_GONE": "エージェントに以前の会話が残っていません。"
    "/reset で新しく始めてから /retry[[ {job}]] してください。",
    "E_OUTPUT_TOO_LONG": "エージェントの出力行が上限を超えました。一度に頼む量を減らして /retry[[ {job}]] してください。",
    "E_AGENT_ERROR": "エージェントがエラーを報告しました。内容を確認して /retry[[ {job}]] してください。",
    "E_PERMISSION_TIER": "このエージェントではプロジェクトの権限を守れません。"
    "PERMISSIONS.json を変更するか、/tool で別のツールを選んでください。",
    "E_ACP_CONNECTION": "エージェントの起動に失敗しました。`fairlead doctor` で AGENT_COMMAND を確認してください。",
    "E_ACP_TIMEOUT": "エージェントが応答しないため、セッションを強制終了しました。/retry[[ {job}]] してください。",
    "E_RUNTIME_HUNG": "エージェントが作業中に応答しなくなったため停止しました。/retry[[ {job}]] してください。",
    "E_MODEL_UNAVAILABLE": "指定されたモデルIDは利用できません[[（{model_id}）]]。"
    "/agent model の候補から選んでください。",
    "E_MODE_UNAVAILABLE": "このモードはここでは使えません。/agent mode の候補から選んでください。",
    "E_ATTACHMENT_GONE": "添付ファイル[[ {name}]] を取得できなくなりました。新しいメッセージに添付し直してください。",
    "E_UNKNOWN_AFTER_CRASH": "実行中に Fairlead が停止し、どこまで進んだか不明です。"
    "プロジェクトを確認して /retry[[ {job}]] してください。",
    "E_DISCORD_RATE_LIMIT": "Discord の制限により今は送信できません。失われたものはなく、後で自動的に再送します。",
    "E_UNDELIVERABLE": "応答の届け先がありません。`fairlead journal show[[ {job}]]` で表示できます。",
    "E_INVALID_NAME": "名前[[ {name}]] は使えません。a-z、0-9、-、_ の 1〜40 文字にしてください。",
    "E_INVALID_ARGS": "引数を解釈できません。修正してもう一度実行してください。",
    "E_INVALID_USER": "ユーザーIDがないか、不正か、別のチャネルのものです。自分のIDを使うか、紐づけてください。",
    "E_EMPTY_MESSAGE": "メッセージが空です。本文を書くか、ファイルを添付してください。",
    "E_MESSAGE_TOO_LARGE": "メッセージが大きすぎます[[（上限 {limit}）]]。プロジェクト内のファイルに書いてください。",
    "E_IDEMPOTENCY_MISMATCH": "この Idempotency-Key は別の内容で使用済みです。新しいキーを使ってください。",
    "E_NOT_IN_TEXT_CHANNEL": "サーバーのテキストチャンネルでのみ使えます。スレッドの外で実行してください。",
    "E_PROJECT_NOT_SELECTED": "プロジェクトが選択されていません。"
    "/projects で確認し、/project switch で選択してください。",
    "E_JOB_NOT_FOUND": "ジョブ[[ {job}]] が見つかりません。/status で最後のジョブを確認できます。",
    "E_MESSAGE_NOT_FOUND": "このメッセージの記録がありません。届いていないか、送信者が許可されていません。",
    "E_NOTHING_TO_CANCEL": "実行中・待機中のものはありません。何もする必要はありません。",
    "E_QUESTION_CLOSED": "この質問は回答済み・期限切れ、または無効です。ジョブが中断していれば /retry してください。",
    "E_SESSION_STATE": "セッションは今この操作を行えません[[（状態: {state}）]]。/status で状態を確認してください。",
    "E_NO_ACTIVE_SESSION": "アクティブなセッションはありません。/start または /agent start で開始してください。",
    "E_SHUTDOWN": "実行中に Fairlead が終了しました。/retry[[ {job}]] してください。",
    "E_DISK_FULL": "ディスクが満杯です。受け付け済みのものは失われていません。空きを作ってから再送してください。",
    "E_JOURNAL_BROKEN": "ジャーナルが壊れています。"
    "`fairlead journal verify` で行を特定し、バックアップから復元してください。",
    "E_STATE_LOCKED": "別のプロセス[[（{pid}）]]がこの状態ディレクトリを使用中です。"
    "停止するか、別の STATE_DIR を指定してください。",
    "E_CONFIG": "設定に誤りがあります。修正してください。`fairlead doctor` で確認できます。",
    "E_INTERNAL": "エラーが発生しました。詳細は logs/app.ndjson にあります。確認後 /retry[[ {job}]] してください。",
}

_COMMANDS: Final = {
    "project": "エージェントが作業するプロジェクト",
    "project.create": "プロジェクトを作成する",
    "project.create.name": "名前（a-z、0-9、-、_ の 1〜40 文字）",
    "project.create.path": "ディレクトリの絶対パス",
    "project.create.tools_csv": "使用を許可するツール（カンマ区切り）",
    "project.create.default_tool": "新しいセッションで最初に使うツール",
    "project.create.args_json": "ツールごとの追加引数（JSON）",
    "project.list": "プロジェクトと使えるツールを一覧表示する",
    "project.status": "プロジェクトのセッション数・キュー・最後のエラーを表示する",
    "project.status.project_name": "プロジェクトの名前または番号",
    "project.add": "新規プロジェクトを登録する",
    "project.add.path": "ディレクトリパス",
    "project.switch": "操作対象プロジェクトを変更する",
    "project.switch.project": "プロジェクトの名前または番号",
    "projects": "登録済みプロジェクト一覧を表示する",
    "start": "新しいスレッドでセッションを開始する",
    "start.project_name": "プロジェクトの名前または番号",
    "session": "セッションとそのスレッド",
    "session.list": "セッションを最近使った順に一覧表示する",
    "session.list.project_name": "このプロジェクトのものだけ表示する",
    "session.open": "セッションのスレッドに戻る",
    "session.open.session_id": "開くセッション",
    "status": "このセッションの状態を表示する",
    "tool": "このセッションのツールを切り替える（次のジョブから有効）",
    "tool.tool": "使用するツール",
    "retry": "失敗または中断したジョブを再試行する",
    "retry.job_id": "再試行するジョブ",
    "agent": "セッションのエージェント",
    "agent.start": "エージェントセッションを開始する",
    "agent.start.project_id": "プロジェクトID",
    "agent.stop": "エージェントセッションを正常終了する",
    "agent.kill": "エージェントセッションを強制終了する",
    "agent.status": "現在のセッション状態を表示する",
    "agent.model": "セッションのモデルを切り替える",
    "agent.model.model_id": "モデルID",
    "agent.mode": "確認なしでエージェントに許す範囲を切り替える",
    "agent.mode.mode": "モード",
    "agent.usage": "セッションの使用量情報を表示する",
    "cancel": "実行中と待機中のジョブを取り消す",
    "reset": "この会話を忘れて新しく始める（履歴は残る）",
    "why": "メッセージがどう処理されたかを順を追って表示する",
    "why.message": "メッセージへのリンク",
}

_REPLIES: Final = {
    "project.none": "登録されているプロジェクトはありません",
    "project.added": "プロジェクト #{id} を登録しました（{path}）",
    "project.not_found": "プロジェクト #{id} が見つかりません",
    "project.created": "プロジェクト {project} を作成しました（{path}）",
    "project.switched": "操作対象をプロジェクト {project} に変更しました",
    "path.missing": "指定されたパスが存在しません",
    "agent.start_failed": "エージェントの起動に失敗しました",
    "session.started": "セッションを開始しました: {thread}",
    "session.opened": "セッションはこちらです: {thread}",
    "session.stopped": "セッションを終了しました",
    "session.killed": "セッションを強制終了しました",
    "session.none": "アクティブなセッションはありません",
    "session.unresponsive": "エージェントが応答しないため、セッションを強制終了しました",
    "session.afresh": "以前の会話を再開できませんでした。エージェントは最初から始めます。",
    "session.reset": "会話を忘れました。次のメッセージから新しい会話が始まります。",
    "sessions.none": "セッションはありません",
    "model.changed": "モデルを {model_id} に変更しました",
    "mode.changed": "モードを {mode} に変更しました（Fairlead の再起動まで有効）",
    "model.unavailable": "指定されたモデルIDは利用できません",
    "tool.changed": "ツールを {tool} に変更しました（次のジョブから有効）",
    "job.cancelled": "{job} を取り消しました",
    "job.retried": "{job} として再試行します（{attempt} 回目）",
    "error": "エラーが発生しました",
    "stranger": "利用を許可されていません",
    "file.refused": "{name} は渡されませんでした: {reason}",
    "file.too_large": "{name}（{size}）は大きすぎるため渡しませんでした。上限は {limit} です",
}

_STATUS: Final = {
    "taken": "受け付けました",
    "queued": "待機中[[（{position} 番目）]]",
    "running": "実行中[[（{elapsed}）]]",
    "waiting": "回答をお待ちしています",
    "thinking": "考え中…",
    "done": "完了[[（{elapsed}）]]",
    "failed": "失敗",
    "cancelled": "取り消し済み",
    "withdrawn": "取り下げ済み",
    "unknown_after_crash": "異常終了により中断",
    "refused": "受け付けられませんでした",
    "retry_hint": "/retry {job} で再試行できます",
    "idle": "待機状態",
}

_QUESTIONS: Final = {
    "permission": "エージェントが許可を求めています: {tool}",
    "choice": "エージェントから質問があります",
    "plan": "エージェントが計画の承認を求めています",
    "allow_once": "今回だけ許可",
    "allow_session": "このセッションで許可",
    "deny": "拒否",
    "approve": "承認",
    "keep_planning": "計画を続ける",
    "other": "その他…",
    "your_answer": "回答",
    "allowed_once_by": "{person} が今回だけ許可しました",
    "allowed_session_by": "{person} がこのセッションで許可しました",
    "denied_by": "{person} が拒否しました",
    "answered_by": "{person} の回答: {answer}",
    "time_left": "回答期限まで残り {time}",
    "expired": "時間内に回答がなかったため、拒否として扱いました",
    "already": "{person} が回答済みです",
    "owner_only": "セッション全体の許可はオーナーのみ行えます",
    "job_gone": "質問したジョブは中断しました。/retry {job} で再実行してください。",
    "carried_over": "質問したジョブは中断しました。回答は新しいメッセージとしてエージェントに渡します。",
}

_TOOLS: Final = {
    "line": "🔧 {tool} を実行中...",
    "read": "{what} を読み込み中",
    "write": "{what} に書き込み中",
    "edit": "{what} を編集中",
    "delete": "{what} を削除中",
    "move": "{what} を移動中",
    "list": "{what} の一覧を取得中",
    "find": "ファイルを検索中[[: {what}]]",
    "search": "{what} を検索中",
    "web_search": "ウェブを検索中[[: {what}]]",
    "fetch": "{what} を取得中",
    "run": "コマンドを実行中…[[ {what}]]",
    "output": "コマンドの出力を確認中",
    "stop": "コマンドを停止中",
    "subagent": "サブタスクを処理中[[: {what}]]",
    "plan": "計画を更新中",
    "present_plan": "計画を提示中",
    "ask": "質問中",
    "think": "考え中",
    "remember": "メモを記録中",
    "skill": "スキル {what} を使用中",
    "mcp": "{tool} を使用中（{server}）",
    "mode": "モードを切り替え中",
    "something": "対象",
    "unknown": "{tool} を使用中",
    "unnamed": "ツールを使用中",
    "more": "{label}（他 {count} 件）",
}

_SHORTENED: Final = {
    "more_lines": "… 残り {count} 行は {file} にあります",
    "more_characters": "… 残り {count} 文字は {file} にあります",
}

GROUPS: Final = {
    "error": _ERRORS,
    "command": _COMMANDS,
    "reply": _REPLIES,
    "status": _STATUS,
    "question": _QUESTIONS,
    "tool": _TOOLS,
    "shortened": _SHORTENED,
}
WORDS: Final = {f"{group}.{key}": words for group, entries in GROUPS.items() for key, words in entries.items()}
