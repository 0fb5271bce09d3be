"""What each error code means, and what to do next, in Traditional Chinese, as written in Taiwan."""
# ruff: noqa: RUF001  # one sentence, one line; full-width punctuation is how it is written

from typing import Final

ERRORS: Final[dict[str, tuple[str, str]]] = {
    "E_OWNER_ONLY": (
        "只有擁有者與允許名單上的人可以使用。",
        "請擁有者將你加入 FAIRLEAD_ALLOWED_USER_IDS。",
    ),
    "E_UNAUTHORIZED": (
        "請求沒有有效的權杖。",
        "請加上 'Authorization: Bearer <token>' 再送出；權杖在狀態目錄的 http-token 檔案中。",
    ),
    "E_AGENT_CALLER": (
        "請求來自 Fairlead 為代理程式啟動的處理程序。",
        "代理程式不能回答問題，也不能下達指令。請從您自己的終端機或程式送出。",
    ),
    "E_NOT_IN_MANAGED_THREAD": (
        "這個對話沒有綁定 session。",
        "請先在這裡傳送訊息、使用 /start，或前往 session 的討論串。",
    ),
    "E_PROJECT_NOT_FOUND": (
        "找不到專案[[ #{id}]][[ {project}]]。",
        "請用 /project list 查看所有專案。",
    ),
    "E_PROJECT_EXISTS": (
        "專案[[ {project} ]]已經存在。",
        "請換個名稱，或直接使用現有的專案。",
    ),
    "E_PROJECT_IN_USE": (
        "這個專案仍在使用中。",
        "請等工作結束，或用 /cancel 取消，然後再移除。",
    ),
    "E_INVALID_PATH": (
        "指定的路徑[[ {path} ]]不存在。[[是不是 {suggestion}？]]",
        "請提供目錄的絕對路徑。",
    ),
    "E_INVALID_TOOLSET": (
        "無法使用這些代理程式[[：{tools}]]。[[可用的有 {available}。]]",
        "請指定可用的代理程式，並包含預設代理程式。",
    ),
    "E_TOOL_NOT_ENABLED": (
        "這個專案不允許使用代理程式[[ {tool}]]。[[允許的有 {enabled}。]]",
        "請用 /project list 查看後重新選擇。如果尚未安裝，請安裝後再試。",
    ),
    "E_SESSION_NOT_FOUND": (
        "找不到 session[[ {session}]]。",
        "請用 /session list 查看所有 session。",
    ),
    "E_THREAD_ACCESS_FAILED": (
        "討論串已鎖定、刪除或無法存取。",
        "請解除鎖定，或用 /start 重新開始。",
    ),
    "E_QUEUE_FULL": (
        "這個 session 的佇列已滿[[（{limit} 則等待中）]]。",
        "請等待回覆，或用 /cancel 取消不需要的，再重新傳送。",
    ),
    "E_JOB_NOT_RETRYABLE": (
        "無法重試工作[[ {job}]][[（狀態：{state}）]]。只有失敗、中斷或變更了檔案的工作可以重試，且各一次。",
        "請對最新一次嘗試使用 /retry，或重新傳送訊息。",
    ),
    "E_CLI_TIMEOUT": (
        "代理程式超過了時間上限[[（{seconds} 秒）]]（FAIRLEAD_CLI_TIMEOUT_SEC）。",
        "請使用 /retry[[ {job}]]，或把工作拆小一點。",
    ),
    "E_CLI_EXIT_NONZERO": (
        "代理程式的程序因錯誤結束[[（結束代碼 {exit_code}）]]。",
        "請查看工作記錄，再使用 /retry[[ {job}]]。",
    ),
    "E_CLI_NOT_FOUND": (
        "找不到代理程式[[ {program}]]。",
        "請用 `fairlead doctor` 檢查缺少什麼。",
    ),
    "E_CLI_NOT_LOGGED_IN": (
        "代理程式[[ {program} ]]尚未登入。",
        "請先登入，然後重試[[：/retry {job}]]。",
    ),
    "E_ADAPTER_PARSE": (
        "無法理解代理程式的輸出。",
        "請用 `fairlead doctor` 檢查版本，再使用 /retry[[ {job}]]。",
    ),
    "E_ADAPTER_MISSING_RESULT": (
        "代理程式結束時沒有回傳結果。",
        "請查看工作記錄，再使用 /retry[[ {job}]]。",
    ),
    "E_ADAPTER_SESSION_KEY_MISSING": (
        "代理程式沒有回報 session，因此無法續聊。",
        "請用 `fairlead doctor` 檢查版本，再使用 /retry[[ {job}]]。",
    ),
    "E_RESUME_GONE": (
        "代理程式已不記得先前的對話。",
        "請用 /reset 重新開始，再使用 /retry[[ {job}]]。",
    ),
    "E_OUTPUT_TOO_LONG": (
        "代理程式輸出的一行超過上限。",
        "請一次少要求一些，再使用 /retry[[ {job}]]。",
    ),
    "E_AGENT_ERROR": (
        "代理程式回報錯誤。",
        "請查看內容，再使用 /retry[[ {job}]]。",
    ),
    "E_AGENT_INTERRUPTED": (
        "代理程式的處理被中斷，但沒有人取消它。",
        "已開始的工作可能未完成。請檢查專案，再使用 /retry[[ {job}]]。",
    ),
    "E_CONTEXT_FULL": (
        "對話太長，代理程式的模型已容納不下。",
        "請用 /reset 重新開始，再使用 /retry[[ {job}]]。如果訊息本身太長，請縮短。",
    ),
    "E_BUDGET_SPENT": (
        "代理程式的程序已達到 RUNTIME_MAX_BUDGET_USD 的上限，並已結束。",
        "/retry[[ {job}]] 和之後的訊息會有新的預算。如果一則訊息需要更多，請提高 RUNTIME_MAX_BUDGET_USD。",
    ),
    "E_PERMISSION_TIER": (
        "這個代理程式無法遵守專案的權限。",
        "請修改 PERMISSIONS.json，或用 /tool 換一個代理程式。",
    ),
    "E_ACP_CONNECTION": (
        "代理程式啟動失敗。",
        "請用 `fairlead doctor` 檢查代理程式。",
    ),
    "E_ACP_TIMEOUT": (
        "代理程式沒有回應，已強制結束 session。",
        "請重試[[：/retry {job}]]。",
    ),
    "E_RUNTIME_HUNG": (
        "代理程式在工作途中失去回應，已將其停止。",
        "請使用 /retry[[ {job}]]。",
    ),
    "E_MODEL_UNAVAILABLE": (
        "無法使用指定的模型 ID[[（{model_id}）]]。",
        "請從 /agent model 提供的選項中選擇。",
    ),
    "E_MODE_UNAVAILABLE": (
        "這裡不能使用這個模式：代理程式沒有這個模式，或專案的權限不允許。",
        "請從 /agent mode 提供的選項中選擇。",
    ),
    "E_AGENT_NOT_FOUND": (
        "沒有叫這個名字的代理程式。",
        "`fairlead agent list` 列出已有的，`fairlead agent search` 列出可以新增的。",
    ),
    "E_RULE_NOT_FOUND": (
        "沒有這條規則。",
        "用 /rules 查看所有規則。",
    ),
    "E_HOOK_NOT_FOUND": (
        "沒有這個 webhook。",
        "用 /hook list 查看所有 webhook。",
    ),
    "E_HOOK_EXISTS": (
        "已經有同名的 webhook。",
        "換一個名稱，或先用 /hook remove 刪除。",
    ),
    "E_TOO_MANY_EVENTS": (
        "webhook 收到的事件超過了上限。",
        "一分鐘後再傳送。上限是 FAIRLEAD_HOOK_EVENTS_PER_MINUTE。",
    ),
    "E_SCHEDULE_NOT_FOUND": (
        "沒有這個排程。",
        "用 /schedule list 查看所有排程。",
    ),
    "E_SCHEDULE_TIME": (
        "這個時間不能用於排程。",
        "請寫成 `every weekday at 9`、`tomorrow at 8:30`、`2026-12-24 18:00` 或 `0 9 * * 1-5` 這樣的形式。",
    ),
    "E_SCHEDULE_BUSY": (
        "這個排程上一次的執行還沒有結束。",
        "請等它結束，或用 /cancel 取消它。",
    ),
    "E_SCHEDULE_CHECK": (
        "這個排程的檢查命令無法執行，所以沒有執行。",
        "請更正命令：刪除這個排程再重新新增。",
    ),
    "E_AGENT_IN_USE": (
        "這個代理程式仍在使用中。",
        "請先把這些 session 和專案切換到其他代理程式，或加上 --force。",
    ),
    "E_AGENT_INSTALL": (
        "無法安裝這個代理程式。沒有做任何變更。",
        "請解決訊息中指出的問題，然後重新執行指令。",
    ),
    "E_AGENT_DIGEST": (
        "這個版本的檔案與第一次安裝時不同。",
        "請不要使用。請向代理程式的發布者詢問變更原因，或選擇其他版本。",
    ),
    "E_ATTACHMENT_GONE": (
        "已無法取得附件[[ {name}]]。",
        "請在新訊息中重新附加。",
    ),
    "E_UNKNOWN_AFTER_CRASH": (
        "執行途中 Fairlead 停止了，不知道代理程式做到哪裡。",
        "請檢查專案，再使用 /retry[[ {job}]]。",
    ),
    "E_DISCORD_RATE_LIMIT": (
        "Discord 限制了訊息的傳送速率。",
        "沒有遺失任何內容，稍後會自動重送。",
    ),
    "E_UNDELIVERABLE": (
        "回覆無法送達。",
        "可用 `fairlead journal show[[ {job}]]` 顯示。",
    ),
    "E_INVALID_NAME": (
        "名稱[[ {name} ]]無法使用。",
        "請使用 1 到 40 個 a-z、0-9、- 與 _ 字元。",
    ),
    "E_INVALID_ARGS": (
        "無法理解參數。",
        "請修正請求後再試一次。",
    ),
    "E_INVALID_USER": (
        "使用者 ID 缺少、格式錯誤、只有數字而未連結，或屬於其他頻道的人。",
        "請使用自己的 ID（例如 alice），或在 FAIRLEAD_IDENTITIES 中連結。",
    ),
    "E_EMPTY_MESSAGE": (
        "訊息是空的。",
        "請輸入內容，或附加檔案。",
    ),
    "E_MESSAGE_TOO_LARGE": (
        "訊息太大[[（上限 {limit}）]]。",
        "請把內容放進專案的檔案中，或調高 FAIRLEAD_MAX_MESSAGE_BYTES。",
    ),
    "E_IDEMPOTENCY_MISMATCH": (
        "這個 Idempotency-Key 已用於不同的內容。",
        "新訊息請使用新的 key。",
    ),
    "E_NOT_IN_TEXT_CHANNEL": (
        "只能在伺服器的文字頻道中使用。",
        "請到文字頻道（討論串之外）執行。",
    ),
    "E_PROJECT_NOT_SELECTED": (
        "沒有可以工作的專案。",
        "請用 /project switch 選擇，或用 /project add 登錄；/project list 會列出所有專案。",
    ),
    "E_JOB_NOT_FOUND": (
        "找不到工作[[ {job}]]。",
        "/jobs 會列出這個 session 的工作。",
    ),
    "E_MESSAGE_NOT_FOUND": (
        "沒有這則訊息的記錄。",
        "它沒有送達，或傳送者不在允許名單上。",
    ),
    "E_NOTHING_TO_CANCEL": (
        "這裡沒有執行中或等待中的工作。",
        "不需要做任何事。",
    ),
    "E_QUESTION_CLOSED": (
        "這個問題已回答、逾時或不存在。",
        "若其工作被中斷，請使用 /retry。",
    ),
    "E_SESSION_STATE": (
        "session 目前無法執行此操作[[（狀態：{state}）]]。",
        "請用 /status 查看狀態。",
    ),
    "E_NO_ACTIVE_SESSION": (
        "沒有進行中的 session。",
        "請傳送訊息，或用 /start 或 /agent start 開始。",
    ),
    "E_SESSION_IN_USE": (
        "代理程式的工作階段正在別處使用。",
        "請先在那裡結束，然後重試。",
    ),
    "E_SESSION_HANDED_OFF": (
        "此工作階段已交給終端機。",
        "請在終端機結束，然後使用 /handoff back。",
    ),
    "E_SHUTDOWN": (
        "執行途中 Fairlead 被關閉。",
        "請使用 /retry[[ {job}]]。",
    ),
    "E_DISK_FULL": (
        "磁碟已滿。目前不接受新內容，已接受的內容沒有遺失。",
        "請清出空間後重新傳送。",
    ),
    "E_JOURNAL_BROKEN": (
        "日誌已損壞。",
        "請用 `fairlead journal verify` 找出損壞的行，並用 `fairlead restore` 從備份還原。",
    ),
    "E_STATE_LOCKED": (
        "另一個程序[[（{pid}）]]正在使用這個狀態目錄。",
        "請停止它，或改用其他 STATE_DIR。",
    ),
    "E_CONFIG": (
        "設定有誤。",
        "請修正；`fairlead doctor` 可以檢查。",
    ),
    "E_SPAWN_DEPTH": (
        "session 巢狀過深：此處衍生的 session 不能再衍生 session。",
        "在這裡完成任務，或提高 FAIRLEAD_SPAWN_MAX_DEPTH。",
    ),
    "E_SPAWN_LIMIT": (
        "由此 session 衍生的 session 過多。",
        "等一些 session 完成，或使用 /cancel children:yes；有人傳送訊息後，代理程式的計數會重新開始。",
    ),
    "E_SPAWN_CANCELLED": (
        "任務在其 session 開始之前已被取消。",
        "如果仍然需要，請重新提出。",
    ),
    "E_WORKTREE_UNAVAILABLE": (
        "此專案不能使用工作樹。",
        "工作樹需要 git 以及至少有一次提交的儲存庫。沒有的話，工作階段在專案目錄中工作。",
    ),
    "E_WORKTREE_GONE": (
        "此工作階段的工作樹不見了：有人刪除或移動了它。",
        "/discard 放棄它並保留其提交。之後用 /worktree make 建立新的，或讓工作階段在專案目錄中工作。",
    ),
    "E_WORKTREE_BUSY": (
        "工作樹正在使用中。",
        "請等它結束，或用 /cancel 取消，然後再試。",
    ),
    "E_NO_WORKTREE": (
        "此工作階段沒有工作樹。",
        "/worktree make 建立一個；/worktree list 顯示全部。",
    ),
    "E_UNCOMMITTED_WORK": (
        "工作樹中有未提交的檔案。",
        "請代理程式提交它們，然後再次使用 /merge。/discard 放棄工作樹。",
    ),
    "E_WORK_WOULD_BE_LOST": (
        "工作樹中有未合併的內容。",
        "/merge 保留提交；/discard confirm:yes 全部捨棄。",
    ),
    "E_MERGE_CONFLICT": (
        "工作樹的分支與目標分支衝突。沒有改動任何內容。",
        "已請代理程式解決。完成後請查看並再次使用 /merge。",
    ),
    "E_MERGE_BLOCKED": (
        "現在無法合併。沒有改動任何內容。",
        "請先在專案目錄中處理阻礙合併的內容，然後再次使用 /merge。",
    ),
    "E_FORK_UNAVAILABLE": (
        "無法從此對話分岔。",
        "請用 /tool 選擇支援分岔的代理程式，或用 /start 開始一個空的 session。",
    ),
    "E_NOT_STEERABLE": (
        "沒有可以交給目前輪次的等待訊息。",
        "請在代理程式工作時傳送 !文字；/jobs 會顯示正在等待的訊息。",
    ),
    "E_STEER_UNKNOWN": (
        "代理程式在說明是否採納該文字之前就結束了。",
        "請查看它的回答；/retry[[ {job}]] 會把該文字當作單獨的訊息重新傳送。",
    ),
    "E_INTERNAL": (
        "發生錯誤。",
        "詳細內容在 logs/app.ndjson；確認後請使用 /retry[[ {job}]]。",
    ),
    "E_SNAPSHOT": (
        "無法為專案的檔案建立快照。",
        "代理程式會照常工作，但這一輪無法復原。`fairlead doctor` 有更多說明。",
    ),
    "E_SNAPSHOT_GONE": (
        "檔案的快照已不存在。",
        "快照會隨其工作一起刪除，或在有人從儲存庫刪除 refs/fairlead 時消失。請使用您自己的 git 歷史。",
    ),
    "E_NOTHING_TO_UNDO": (
        "這裡沒有可復原或重做的內容。",
        "/jobs 列出各輪工作，/changes 顯示其中一輪改了什麼。",
    ),
    "E_UNDO_CHANGED": (
        "那一輪的檔案之後又被更動，因此沒有復原任何內容。",
        "請先查看（/changes 加上編號顯示那一輪的差異），保存需要的內容，再手動或用您自己的 git 復原。",
    ),
    "E_UNDO_BUSY": (
        "有代理程式正在此目錄中工作。",
        "請等它完成，或使用 /cancel，然後再試。",
    ),
    "E_MACHINE_AWAY": (
        "這台機器沒有連線。",
        "請在那台機器上啟動 `fairlead runner run`。/machine list 會顯示它何時離線。",
    ),
    "E_MACHINE_NOT_FOUND": (
        "沒有這台機器。",
        "/machine list 會列出所有機器；`fairlead machine add NAME` 可新增一台。",
    ),
    "E_MACHINE_REMOVED": (
        "這台機器已被移除。",
        "請在守護行程所在的機器上執行 `fairlead machine add NAME`，用新金鑰重新加入。",
    ),
    "E_MACHINE_IN_USE": (
        "這台機器上還有工作在執行或等待。",
        "請取消它們或等待其結束；/machine forget NAME 會放棄它們。",
    ),
    "E_MACHINES_TAKEN": (
        "另一個守護行程正在向這些機器下達命令。",
        (
            "請停止那個守護行程。如果是因為還原了備份而不再有那個守護行程：停止 Fairlead，執行 `fairlead restore`，"
            "之後就以此狀態繼續。"
        ),
    ),
    "E_RUNNER_OLD": (
        "這台機器上的 runner 是另一個版本的 Fairlead。",
        (
            "請升級兩者中較舊的一個。在那台機器的簽出目錄中輸入 "
            "`git pull && uv tool install --reinstall '.[machines]'`，然後重新啟動 runner。"
        ),
    ),
    "E_RUNNER_SUPERSEDED": (
        "另一個 runner 已使用這台機器的名稱，本 runner 已結束。",
        "請停止另一個，或讓它們以不同的名稱加入。",
    ),
}
