"""What each error code means, and what to do next, in Japanese."""
# ruff: noqa: E501, RUF001  # one sentence, one line; full-width punctuation is how it is written

from typing import Final

ERRORS: Final[dict[str, tuple[str, str]]] = {
    "E_OWNER_ONLY": (
        "オーナーと許可されたユーザーのみ利用できます。",
        "FAIRLEAD_ALLOWED_USER_IDS への追加をオーナーに依頼してください。",
    ),
    "E_UNAUTHORIZED": (
        "有効なトークンがありません。",
        "'Authorization: Bearer <token>' を付けて送信してください。トークンは状態ディレクトリの http-token にあります。",
    ),
    "E_AGENT_CALLER": (
        "このリクエストは、Fairlead がエージェントのために起動したプロセスから届きました。",
        "エージェントは質問に答えたりコマンドを出したりできません。自分の端末かプログラムから送信してください。",
    ),
    "E_NOT_IN_MANAGED_THREAD": (
        "この会話に紐づくセッションがありません。",
        "ここでメッセージを送るか、/start を使うか、セッションのスレッドへ移動してください。",
    ),
    "E_PROJECT_NOT_FOUND": (
        "プロジェクト[[ #{id} ]][[ {project} ]]が見つかりません。",
        "/project list で一覧を確認してください。",
    ),
    "E_PROJECT_EXISTS": (
        "プロジェクト[[ {project} ]]は既に存在します。",
        "別の名前にするか、既存のものを使ってください。",
    ),
    "E_PROJECT_IN_USE": (
        "このプロジェクトはまだ使用中です。",
        "ジョブが終わるのを待つか、/cancel で取り消してから削除してください。",
    ),
    "E_INVALID_PATH": (
        "指定されたパスが存在しません[[（{path}）]]。[[{suggestion} ではありませんか？]]",
        "ディレクトリの絶対パスを指定してください。",
    ),
    "E_INVALID_TOOLSET": (
        "指定されたエージェントは使えません[[（{tools}）]]。[[利用可能: {available}。]]",
        "既定のエージェントを含めて、利用可能なエージェントを指定してください。",
    ),
    "E_TOOL_NOT_ENABLED": (
        "このプロジェクトではエージェント[[ {tool} ]]を使えません。[[使えるのは {enabled} です。]]",
        "/project list で確認して選び直してください。まだインストールしていない場合は、インストールしてからもう一度試してください。",
    ),
    "E_SESSION_NOT_FOUND": (
        "セッション[[ {session} ]]が見つかりません。",
        "/session list で一覧を確認してください。",
    ),
    "E_THREAD_ACCESS_FAILED": (
        "スレッドがロック・削除されているか、アクセスできません。",
        "ロックを解除するか、/start で新しく始めてください。",
    ),
    "E_QUEUE_FULL": (
        "このセッションのキューが満杯です[[（{limit} 件待機中）]]。",
        "応答を待つか、不要なものを /cancel してから再送してください。",
    ),
    "E_JOB_NOT_RETRYABLE": (
        "ジョブ[[ {job} ]]は再試行できません[[（状態: {state}）]]。再試行できるのは失敗または中断したジョブだけで、それぞれ一度だけです。",
        "最新の試行を /retry するか、メッセージを送り直してください。",
    ),
    "E_CLI_TIMEOUT": (
        "エージェントの処理が制限時間[[（{seconds} 秒）]]を超えました（FAIRLEAD_CLI_TIMEOUT_SEC）。",
        "/retry[[ {job}]] を使うか、作業を小さく分けてください。",
    ),
    "E_CLI_EXIT_NONZERO": (
        "エージェントのプロセスがエラーで終了しました[[（終了コード {exit_code}）]]。",
        "ジョブのログを確認して /retry[[ {job}]] してください。",
    ),
    "E_CLI_NOT_FOUND": (
        "エージェントのプログラム[[ {program} ]]が見つかりません。",
        "`fairlead doctor` で確認してください。",
    ),
    "E_CLI_NOT_LOGGED_IN": (
        "エージェントのプログラム[[ {program} ]]にログインしていません。",
        "ログインしてから、もう一度試してください[[（/retry {job}）]]。",
    ),
    "E_ADAPTER_PARSE": (
        "エージェントの出力を解釈できませんでした。",
        "`fairlead doctor` でバージョンを確認し、/retry[[ {job}]] してください。",
    ),
    "E_ADAPTER_MISSING_RESULT": (
        "エージェントが結果を返さずに終了しました。",
        "ジョブのログを確認して /retry[[ {job}]] してください。",
    ),
    "E_ADAPTER_SESSION_KEY_MISSING": (
        "エージェントがセッションIDを返さなかったため、再開できません。",
        "`fairlead doctor` でバージョンを確認し、/retry[[ {job}]] してください。",
    ),
    "E_RESUME_GONE": (
        "エージェントに以前の会話が残っていません。",
        "/reset で新しく始めてから /retry[[ {job}]] してください。",
    ),
    "E_OUTPUT_TOO_LONG": (
        "エージェントの出力行が上限を超えました。",
        "一度に頼む量を減らして /retry[[ {job}]] してください。",
    ),
    "E_AGENT_ERROR": (
        "エージェントがエラーを報告しました。",
        "内容を確認して /retry[[ {job}]] してください。",
    ),
    "E_AGENT_INTERRUPTED": (
        "エージェントの処理が中断されましたが、誰も取り消していません。",
        "途中の作業が残っているかもしれません。プロジェクトを確認してから /retry[[ {job}]] してください。",
    ),
    "E_CONTEXT_FULL": (
        "会話が長くなり、エージェントのモデルに収まりません。",
        "/reset で新しく始めてから /retry[[ {job}]] してください。メッセージ自体が長すぎるときは短くしてください。",
    ),
    "E_BUDGET_SPENT": (
        "エージェントのプロセスが RUNTIME_MAX_BUDGET_USD の上限に達し、終了しました。",
        "/retry[[ {job}]] と以後のメッセージには新しい予算が使われます。1 回で足りないときは RUNTIME_MAX_BUDGET_USD を上げてください。",
    ),
    "E_PERMISSION_TIER": (
        "このエージェントではプロジェクトの権限を守れません。",
        "PERMISSIONS.json を変更するか、/tool で別のエージェントを選んでください。",
    ),
    "E_ACP_CONNECTION": (
        "エージェントの起動に失敗しました。",
        "`fairlead doctor` でエージェントを確認してください。",
    ),
    "E_ACP_TIMEOUT": (
        "エージェントが応答しないため、セッションを強制終了しました。",
        "もう一度試してください[[（/retry {job}）]]。",
    ),
    "E_RUNTIME_HUNG": (
        "エージェントが作業中に応答しなくなったため停止しました。",
        "/retry[[ {job}]] してください。",
    ),
    "E_MODEL_UNAVAILABLE": (
        "指定されたモデルIDは利用できません[[（{model_id}）]]。",
        "/agent model の候補から選んでください。",
    ),
    "E_MODE_UNAVAILABLE": (
        "このモードはここでは使えません。エージェントにないモードか、プロジェクトの権限で許されていません。",
        "/agent mode の候補から選んでください。",
    ),
    "E_AGENT_NOT_FOUND": (
        "この名前のエージェントはありません。",
        "`fairlead agent list` で今あるものを、`fairlead agent search` で追加できるものを確認できます。",
    ),
    "E_RULE_NOT_FOUND": (
        "そのルールはありません。",
        "/rules でルールの一覧を表示できます。",
    ),
    "E_AGENT_IN_USE": (
        "このエージェントはまだ使われています。",
        "先にそれらのセッションとプロジェクトを別のエージェントに切り替えるか、--force を付けてください。",
    ),
    "E_AGENT_INSTALL": (
        "エージェントをインストールできませんでした。何も変更されていません。",
        "メッセージに示された問題を解決してから、もう一度実行してください。",
    ),
    "E_AGENT_DIGEST": (
        "このバージョンのファイルは、最初にインストールしたものと異なります。",
        "使用しないでください。変更された理由をエージェントの提供元に確認するか、別のバージョンを選んでください。",
    ),
    "E_ATTACHMENT_GONE": (
        "添付ファイル[[ {name} ]]を取得できなくなりました。",
        "新しいメッセージに添付し直してください。",
    ),
    "E_UNKNOWN_AFTER_CRASH": (
        "実行中に Fairlead が停止し、どこまで進んだか不明です。",
        "プロジェクトを確認して /retry[[ {job}]] してください。",
    ),
    "E_DISCORD_RATE_LIMIT": (
        "Discord の送信制限（レート制限）により今は送信できません。",
        "失われたものはなく、後で自動的に再送します。",
    ),
    "E_UNDELIVERABLE": (
        "応答を届けられませんでした。",
        "`fairlead journal show[[ {job}]]` で表示できます。",
    ),
    "E_INVALID_NAME": (
        "名前[[ {name} ]]は使えません。",
        "a-z、0-9、-、_ の 1〜40 文字にしてください。",
    ),
    "E_INVALID_ARGS": (
        "引数を解釈できません。",
        "リクエストを修正してもう一度実行してください。",
    ),
    "E_INVALID_USER": (
        "ユーザーIDがないか、形式が不正か、紐づけのない数字だけのIDか、別のチャネルの人のIDです。",
        "alice のような自分のIDを指定するか、FAIRLEAD_IDENTITIES で紐づけてください。",
    ),
    "E_EMPTY_MESSAGE": (
        "メッセージが空です。",
        "本文を書くか、ファイルを添付してください。",
    ),
    "E_MESSAGE_TOO_LARGE": (
        "メッセージが大きすぎます[[（上限 {limit}）]]。",
        "プロジェクト内のファイルに書くか、FAIRLEAD_MAX_MESSAGE_BYTES を増やしてください。",
    ),
    "E_IDEMPOTENCY_MISMATCH": (
        "この Idempotency-Key は別の内容で使用済みです。",
        "新しいメッセージには新しいキーを使ってください。",
    ),
    "E_NOT_IN_TEXT_CHANNEL": (
        "サーバーのテキストチャンネルでのみ使えます。",
        "スレッドの外で実行してください。",
    ),
    "E_PROJECT_NOT_SELECTED": (
        "作業するプロジェクトがありません。",
        "/project switch で選択するか、/project add で登録してください。/project list で一覧を確認できます。",
    ),
    "E_JOB_NOT_FOUND": (
        "ジョブ[[ {job} ]]が見つかりません。",
        "/jobs でこのセッションのジョブを一覧できます。",
    ),
    "E_MESSAGE_NOT_FOUND": (
        "このメッセージの記録がありません。",
        "届いていないか、送信者が許可されていません。",
    ),
    "E_NOTHING_TO_CANCEL": (
        "実行中・待機中のものはありません。",
        "何もする必要はありません。",
    ),
    "E_QUESTION_CLOSED": (
        "この質問は回答済み・期限切れ、または無効です。",
        "ジョブが中断していれば /retry してください。",
    ),
    "E_SESSION_STATE": (
        "セッションは今この操作を行えません[[（状態: {state}）]]。",
        "/status で状態を確認してください。",
    ),
    "E_NO_ACTIVE_SESSION": (
        "アクティブなセッションはありません。",
        "メッセージを送るか、/start または /agent start で開始してください。",
    ),
    "E_SHUTDOWN": (
        "実行中に Fairlead が終了しました。",
        "/retry[[ {job}]] してください。",
    ),
    "E_DISK_FULL": (
        "ディスクが満杯です。新しいものは受け付けませんが、受け付け済みのものは失われていません。",
        "空きを作ってから再送してください。",
    ),
    "E_JOURNAL_BROKEN": (
        "ジャーナルが壊れています。",
        "`fairlead journal verify` で壊れた行を特定し、`fairlead restore` でバックアップから復元してください。",
    ),
    "E_STATE_LOCKED": (
        "別のプロセス[[（{pid}）]]がこの状態ディレクトリを使用中です。",
        "停止するか、別の STATE_DIR を指定してください。",
    ),
    "E_CONFIG": (
        "設定に誤りがあります。",
        "修正してください。`fairlead doctor` で確認できます。",
    ),
    "E_SPAWN_DEPTH": (
        "セッションの入れ子が深すぎます。ここからはこれ以上派生できません。",
        "ここでタスクを行うか、FAIRLEAD_SPAWN_MAX_DEPTH を上げてください。",
    ),
    "E_SPAWN_LIMIT": (
        "このセッションから派生したセッションが多すぎます。",
        "いくつか終わるまで待つか、/cancel children:yes を使ってください。人がメッセージを送ると、エージェントの数は数え直されます。",
    ),
    "E_SPAWN_CANCELLED": (
        "タスクは、セッションが始まる前にキャンセルされました。",
        "まだ必要なら、もう一度依頼してください。",
    ),
    "E_INTERNAL": (
        "エラーが発生しました。",
        "詳細は logs/app.ndjson にあります。確認後 /retry[[ {job}]] してください。",
    ),
}
