"""What each error code means, and what to do next, in Simplified Chinese, as written in mainland China."""
# ruff: noqa: RUF001  # one sentence, one line; full-width punctuation is how it is written

from typing import Final

ERRORS: Final[dict[str, tuple[str, str]]] = {
    "E_OWNER_ONLY": (
        "只有所有者和允许名单中的人可以使用。",
        "请让所有者把你加入 FAIRLEAD_ALLOWED_USER_IDS。",
    ),
    "E_UNAUTHORIZED": (
        "请求没有有效的令牌。",
        "请带上 'Authorization: Bearer <token>' 再发送；令牌在状态目录的 http-token 文件中。",
    ),
    "E_AGENT_CALLER": (
        "请求来自 Fairlead 为智能体启动的进程。",
        "智能体不能回答问题，也不能下达命令。请从您自己的终端或程序发送。",
    ),
    "E_NOT_IN_MANAGED_THREAD": (
        "这个对话没有绑定会话。",
        "请先在这里发送消息、使用 /start，或前往会话的子区。",
    ),
    "E_PROJECT_NOT_FOUND": (
        "找不到项目[[ #{id}]][[ {project}]]。",
        "请用 /project list 查看所有项目。",
    ),
    "E_PROJECT_EXISTS": (
        "项目[[ {project} ]]已经存在。",
        "请换个名称，或直接使用现有的项目。",
    ),
    "E_PROJECT_IN_USE": (
        "这个项目仍在使用中。",
        "请等任务结束，或用 /cancel 取消，然后再移除。",
    ),
    "E_INVALID_PATH": (
        "指定的路径[[ {path} ]]不存在。[[是不是 {suggestion}？]]",
        "请提供目录的绝对路径。",
    ),
    "E_INVALID_TOOLSET": (
        "无法使用这些智能体[[：{tools}]]。[[可用的有 {available}。]]",
        "请指定可用的智能体，并包含默认智能体。",
    ),
    "E_TOOL_NOT_ENABLED": (
        "这个项目不允许使用智能体[[ {tool}]]。[[允许的有 {enabled}。]]",
        "请用 /project list 查看后重新选择。如果尚未安装，请安装后再试。",
    ),
    "E_SESSION_NOT_FOUND": (
        "找不到会话[[ {session}]]。",
        "请用 /session list 查看所有会话。",
    ),
    "E_THREAD_ACCESS_FAILED": (
        "子区已锁定、删除或无法访问。",
        "请解除锁定，或用 /start 重新开始。",
    ),
    "E_QUEUE_FULL": (
        "这个会话的队列已满[[（{limit} 条等待中）]]。",
        "请等待回复，或用 /cancel 取消不需要的，再重新发送。",
    ),
    "E_JOB_NOT_RETRYABLE": (
        "无法重试任务[[ {job}]][[（状态：{state}）]]。只有失败、中断或更改了文件的任务可以重试，且各一次。",
        "请对最新一次尝试使用 /retry，或重新发送消息。",
    ),
    "E_CLI_TIMEOUT": (
        "智能体超过了时间上限[[（{seconds} 秒）]]（FAIRLEAD_CLI_TIMEOUT_SEC）。",
        "请使用 /retry[[ {job}]]，或把任务拆小一点。",
    ),
    "E_CLI_EXIT_NONZERO": (
        "智能体进程因错误退出[[（退出码 {exit_code}）]]。",
        "请查看任务日志，再使用 /retry[[ {job}]]。",
    ),
    "E_CLI_NOT_FOUND": (
        "找不到智能体程序[[ {program}]]。",
        "请用 `fairlead doctor` 检查缺少什么。",
    ),
    "E_CLI_NOT_LOGGED_IN": (
        "智能体程序[[ {program} ]]尚未登录。",
        "请先登录，然后重试[[：/retry {job}]]。",
    ),
    "E_ADAPTER_PARSE": (
        "无法理解智能体的输出。",
        "请用 `fairlead doctor` 检查版本，再使用 /retry[[ {job}]]。",
    ),
    "E_ADAPTER_MISSING_RESULT": (
        "智能体结束时没有返回结果。",
        "请查看任务日志，再使用 /retry[[ {job}]]。",
    ),
    "E_ADAPTER_SESSION_KEY_MISSING": (
        "智能体没有报告会话标识，因此无法继续对话。",
        "请用 `fairlead doctor` 检查版本，再使用 /retry[[ {job}]]。",
    ),
    "E_RESUME_GONE": (
        "智能体已不记得之前的对话。",
        "请用 /reset 重新开始，再使用 /retry[[ {job}]]。",
    ),
    "E_OUTPUT_TOO_LONG": (
        "智能体输出的一行超过上限。",
        "请一次少要求一些，再使用 /retry[[ {job}]]。",
    ),
    "E_AGENT_ERROR": (
        "智能体报告了错误。",
        "请查看内容，再使用 /retry[[ {job}]]。",
    ),
    "E_AGENT_INTERRUPTED": (
        "智能体的处理被中断，但没有人取消它。",
        "已开始的工作可能未完成。请检查项目，再使用 /retry[[ {job}]]。",
    ),
    "E_CONTEXT_FULL": (
        "对话太长，智能体的模型已容纳不下。",
        "请用 /reset 重新开始，再使用 /retry[[ {job}]]。如果消息本身太长，请缩短。",
    ),
    "E_BUDGET_SPENT": (
        "智能体进程已达到 RUNTIME_MAX_BUDGET_USD 的上限，并已结束。",
        "/retry[[ {job}]] 和之后的消息会有新的预算。如果一条消息需要更多，请提高 RUNTIME_MAX_BUDGET_USD。",
    ),
    "E_PERMISSION_TIER": (
        "这个智能体无法遵守项目的权限。",
        "请修改 PERMISSIONS.json，或用 /tool 换一个智能体。",
    ),
    "E_ACP_CONNECTION": (
        "智能体启动失败。",
        "请用 `fairlead doctor` 检查智能体。",
    ),
    "E_ACP_TIMEOUT": (
        "智能体没有响应，已强制结束会话。",
        "请重试[[：/retry {job}]]。",
    ),
    "E_RUNTIME_HUNG": (
        "智能体在工作途中失去响应，已将其停止。",
        "请使用 /retry[[ {job}]]。",
    ),
    "E_MODEL_UNAVAILABLE": (
        "无法使用指定的模型 ID[[（{model_id}）]]。",
        "请从 /agent model 提供的选项中选择。",
    ),
    "E_MODE_UNAVAILABLE": (
        "这里不能使用这个模式：智能体没有这个模式，或项目的权限不允许。",
        "请从 /agent mode 提供的选项中选择。",
    ),
    "E_AGENT_NOT_FOUND": (
        "没有叫这个名字的智能体。",
        "`fairlead agent list` 列出已有的，`fairlead agent search` 列出可以添加的。",
    ),
    "E_RULE_NOT_FOUND": (
        "没有这条规则。",
        "用 /rules 查看所有规则。",
    ),
    "E_HOOK_NOT_FOUND": (
        "没有这个 webhook。",
        "用 /hook list 查看所有 webhook。",
    ),
    "E_HOOK_EXISTS": (
        "已经有同名的 webhook。",
        "换一个名称，或先用 /hook remove 删除。",
    ),
    "E_TOO_MANY_EVENTS": (
        "webhook 收到的事件超过了上限。",
        "一分钟后再发送。上限是 FAIRLEAD_HOOK_EVENTS_PER_MINUTE。",
    ),
    "E_SCHEDULE_NOT_FOUND": (
        "没有这个定时任务。",
        "用 /schedule list 查看所有定时任务。",
    ),
    "E_SCHEDULE_TIME": (
        "这个时间不能用于定时任务。",
        "请写成 `every weekday at 9`、`tomorrow at 8:30`、`2026-12-24 18:00` 或 `0 9 * * 1-5` 这样的形式。",
    ),
    "E_SCHEDULE_BUSY": (
        "这个定时任务上一次的运行还没有结束。",
        "请等它结束，或用 /cancel 取消它。",
    ),
    "E_SCHEDULE_CHECK": (
        "这个定时任务的检查命令无法执行，所以没有运行。",
        "请更正命令：删除这个定时任务再重新添加。",
    ),
    "E_AGENT_IN_USE": (
        "这个智能体仍在使用中。",
        "请先把这些会话和项目切换到其他智能体，或加上 --force。",
    ),
    "E_AGENT_INSTALL": (
        "无法安装这个智能体。没有做任何更改。",
        "请解决消息中指出的问题，然后重新运行命令。",
    ),
    "E_AGENT_DIGEST": (
        "这个版本的文件与第一次安装时不同。",
        "请不要使用。请向智能体的发布者询问更改原因，或选择其他版本。",
    ),
    "E_ATTACHMENT_GONE": (
        "已无法获取附件[[ {name}]]。",
        "请在新消息中重新添加。",
    ),
    "E_UNKNOWN_AFTER_CRASH": (
        "执行途中 Fairlead 停止了，不知道智能体做到哪里。",
        "请检查项目，再使用 /retry[[ {job}]]。",
    ),
    "E_DISCORD_RATE_LIMIT": (
        "Discord 限制了消息的发送速率。",
        "没有丢失任何内容，稍后会自动重发。",
    ),
    "E_UNDELIVERABLE": (
        "回复无法送达。",
        "可用 `fairlead journal show[[ {job}]]` 显示。",
    ),
    "E_INVALID_NAME": (
        "名称[[ {name} ]]无法使用。",
        "请使用 1 到 40 个 a-z、0-9、- 和 _ 字符。",
    ),
    "E_INVALID_ARGS": (
        "无法理解参数。",
        "请修正请求后再试一次。",
    ),
    "E_INVALID_USER": (
        "用户 ID 缺失、格式错误、只有数字而未关联，或属于其他渠道的人。",
        "请使用自己的 ID（例如 alice），或在 FAIRLEAD_IDENTITIES 中关联。",
    ),
    "E_EMPTY_MESSAGE": (
        "消息是空的。",
        "请输入内容，或添加文件。",
    ),
    "E_MESSAGE_TOO_LARGE": (
        "消息太大[[（上限 {limit}）]]。",
        "请把内容放进项目的文件中，或调高 FAIRLEAD_MAX_MESSAGE_BYTES。",
    ),
    "E_IDEMPOTENCY_MISMATCH": (
        "这个 Idempotency-Key 已用于不同的内容。",
        "新消息请使用新的 key。",
    ),
    "E_NOT_IN_TEXT_CHANNEL": (
        "只能在服务器的文字频道中使用。",
        "请到文字频道（子区之外）执行。",
    ),
    "E_PROJECT_NOT_SELECTED": (
        "没有可以工作的项目。",
        "请用 /project switch 选择，或用 /project add 注册；/project list 会列出所有项目。",
    ),
    "E_JOB_NOT_FOUND": (
        "找不到任务[[ {job}]]。",
        "/jobs 会列出这个会话的任务。",
    ),
    "E_MESSAGE_NOT_FOUND": (
        "没有这条消息的记录。",
        "它没有送达，或发送者不在允许名单中。",
    ),
    "E_NOTHING_TO_CANCEL": (
        "这里没有执行中或等待中的任务。",
        "不需要做任何事。",
    ),
    "E_QUESTION_CLOSED": (
        "这个问题已回答、过期或不存在。",
        "若其任务被中断，请使用 /retry。",
    ),
    "E_SESSION_STATE": (
        "会话目前无法执行此操作[[（状态：{state}）]]。",
        "请用 /status 查看状态。",
    ),
    "E_NO_ACTIVE_SESSION": (
        "没有活动的会话。",
        "请发送消息，或用 /start 或 /agent start 开始。",
    ),
    "E_SESSION_IN_USE": (
        "智能体的会话正在别处使用。",
        "请先在那里退出，然后重试。",
    ),
    "E_SESSION_HANDED_OFF": (
        "此会话已交给终端。",
        "请在终端退出，然后使用 /handoff back。",
    ),
    "E_SHUTDOWN": (
        "执行途中 Fairlead 被关闭。",
        "请使用 /retry[[ {job}]]。",
    ),
    "E_DISK_FULL": (
        "磁盘已满。目前不接受新内容，已接受的内容没有丢失。",
        "请清出空间后重新发送。",
    ),
    "E_JOURNAL_BROKEN": (
        "日志已损坏。",
        "请用 `fairlead journal verify` 找出损坏的行，并用 `fairlead restore` 从备份恢复。",
    ),
    "E_STATE_LOCKED": (
        "另一个进程[[（{pid}）]]正在使用这个状态目录。",
        "请停止它，或改用其他 STATE_DIR。",
    ),
    "E_CONFIG": (
        "设置有误。",
        "请修正；`fairlead doctor` 可以检查。",
    ),
    "E_SPAWN_DEPTH": (
        "会话嵌套过深：此处派生的会话不能再派生会话。",
        "在这里完成任务，或提高 FAIRLEAD_SPAWN_MAX_DEPTH。",
    ),
    "E_SPAWN_LIMIT": (
        "由此会话派生的会话过多。",
        "等一些会话完成，或使用 /cancel children:yes；有人发送消息后，智能体的计数会重新开始。",
    ),
    "E_SPAWN_CANCELLED": (
        "任务在其会话开始之前已被取消。",
        "如果仍然需要，请重新提出。",
    ),
    "E_WORKTREE_UNAVAILABLE": (
        "此项目不能使用工作树。",
        "工作树需要 git 以及至少有一次提交的仓库。没有的话，会话在项目目录中工作。",
    ),
    "E_WORKTREE_GONE": (
        "此会话的工作树不见了：有人删除或移动了它。",
        "/discard 放弃它并保留其提交。之后用 /worktree make 建立新的，或让会话在项目目录中工作。",
    ),
    "E_WORKTREE_BUSY": (
        "工作树正在使用中。",
        "请等它结束，或用 /cancel 取消，然后再试。",
    ),
    "E_NO_WORKTREE": (
        "此会话没有工作树。",
        "/worktree make 建立一个；/worktree list 显示全部。",
    ),
    "E_UNCOMMITTED_WORK": (
        "工作树中有未提交的文件。",
        "请智能体提交它们，然后再次使用 /merge。/discard 放弃工作树。",
    ),
    "E_WORK_WOULD_BE_LOST": (
        "工作树中有未合并的内容。",
        "/merge 保留提交；/discard confirm:yes 全部丢弃。",
    ),
    "E_MERGE_CONFLICT": (
        "工作树的分支与目标分支冲突。没有改动任何内容。",
        "已请智能体解决。完成后请查看并再次使用 /merge。",
    ),
    "E_MERGE_BLOCKED": (
        "现在无法合并。没有改动任何内容。",
        "请先在项目目录中处理阻碍合并的内容，然后再次使用 /merge。",
    ),
    "E_FORK_UNAVAILABLE": (
        "无法从此对话分叉。",
        "请用 /tool 选择支持分叉的智能体，或用 /start 开始一个空会话。",
    ),
    "E_NOT_STEERABLE": (
        "没有可以交给当前轮次的等待消息。",
        "请在智能体工作时发送 !文字；/jobs 会显示正在等待的消息。",
    ),
    "E_STEER_UNKNOWN": (
        "智能体在说明是否采纳该文字之前就结束了。",
        "请查看它的回答；/retry[[ {job}]] 会把该文字作为单独的消息重新发送。",
    ),
    "E_INTERNAL": (
        "发生错误。",
        "详细内容在 logs/app.ndjson；确认后请使用 /retry[[ {job}]]。",
    ),
    "E_SNAPSHOT": (
        "无法为项目的文件创建快照。",
        "智能体会照常工作，但这一轮无法撤销。`fairlead doctor` 有更多说明。",
    ),
    "E_SNAPSHOT_GONE": (
        "文件的快照已不存在。",
        "快照会随其任务一起删除，或在有人从仓库删除 refs/fairlead 时消失。请使用您自己的 git 历史。",
    ),
    "E_NOTHING_TO_UNDO": (
        "这里没有可撤销或重做的内容。",
        "/jobs 列出各轮任务，/changes 显示其中一轮改了什么。",
    ),
    "E_UNDO_CHANGED": (
        "那一轮的文件之后又被改动，因此没有撤销任何内容。",
        "请先查看（/changes 加上编号显示那一轮的差异），保存需要的内容，再手动或用您自己的 git 撤销。",
    ),
    "E_UNDO_BUSY": (
        "有智能体正在此目录中工作。",
        "请等它完成，或使用 /cancel，然后再试。",
    ),
    "E_MACHINE_AWAY": (
        "这台机器没有连接。",
        "请在那台机器上启动 `fairlead runner run`。/machine list 会显示它何时离线。",
    ),
    "E_MACHINE_NOT_FOUND": (
        "没有这台机器。",
        "/machine list 会列出所有机器；`fairlead machine add NAME` 可添加一台。",
    ),
    "E_MACHINE_REMOVED": (
        "这台机器已被移除。",
        "请在守护进程所在的机器上运行 `fairlead machine add NAME`，用新密钥重新加入。",
    ),
    "E_MACHINE_IN_USE": (
        "这台机器上还有任务在运行或等待。",
        "请取消它们或等待其结束；/machine forget NAME 会放弃它们。",
    ),
    "E_MACHINES_TAKEN": (
        "另一个守护进程正在向这些机器下达命令。",
        (
            "请停止那个守护进程。如果是因为恢复了备份而不再有那个守护进程：停止 Fairlead，运行 `fairlead restore`，"
            "之后就以此状态继续。"
        ),
    ),
    "E_RUNNER_OLD": (
        "这台机器上的 runner 是另一个版本的 Fairlead。",
        (
            "请升级两者中较旧的一个。在那台机器的检出目录中输入 "
            "`git pull && uv tool install --reinstall '.[machines]'`，然后重启 runner。"
        ),
    ),
    "E_RUNNER_SUPERSEDED": (
        "另一个 runner 已使用这台机器的名称，本 runner 已结束。",
        "请停止另一个，或让它们以不同的名称加入。",
    ),
}
