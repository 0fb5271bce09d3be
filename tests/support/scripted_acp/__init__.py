"""An agent that speaks ACP and does what the prompt says, faults too. Knows no Fairlead, needs no Node, no model.

`shim.write_shim(directory, "agent", bare=True, usage="none")` writes an executable with its switches inside, because a
daemon that builds its children's environment from an allow-list would not pass variables on. It speaks through the
official SDK, which checks every message both ways; with `bare=True` it needs the standard library alone and starts ten
times as fast.

Every line of a prompt that is an order is followed, one after the other. The lines between are words:

    my name is Bob           remembered over restarts; `what is my name?` asks for it (any `my THING is VALUE`)
    which model?             also: mode, effort, fast, session, directory, title, pid; the reply is `model=scripted-1`
    which files?             describes the pictures, sounds and resources of the prompt
    /compact now             a first line that begins with a slash: `Ran the command /compact now`
    anything else            `You said: anything else`

Orders that speak:

    say: TEXT                three chunks (`\\n` is a new line)      think: TEXT           a thought
    image: N                 N pictures in message chunks           title: TEXT           session_info_update
    plan: A | B | *C         A done, B under way, *C done           plan-update: A | B    the same as plan_update
    plan-text: TEXT          plan_update with markdown              plan-removed
    commands: a b            available_commands_update              context: USED SIZE [COST]    usage_update
    mode: ID, model: ID      changed by the agent itself            usage: IN OUT [CACHED]       of this turn
    unknown                  updates of kinds that no schema has    update: {JSON}        any update, unchecked
    late: TEXT               a chunk right after the response       unasked: FIFO TEXT    a chunk, once written to

Orders that use tools (KIND is read, edit, delete, move, search, execute, think, fetch, switch_mode, other):

    tool: [KIND] WHAT        tool_call and its end                  tool-failed: [KIND] WHAT
    tool-grows: [KIND] WHAT  begins empty, input comes later        tool-open: [KIND] WHAT, tool-close
    diff: PATH OLD => NEW    an edit with a diff                    terminal: COMMAND     output in `_meta`, as Codex
    ask: [SET] [KIND] WHAT   with permission; says `Chose OPTION`   ask-silent: …         no tool_call before, as Gemini
    ask-twice: …             the same permission again              ask-both: A | B       two permissions at once
    ask-after-cancel: …      waits for the cancel, then asks        unasked-ask: FIFO WHAT    long after the turn
    ask-question: Q | A | B  a permission that asks, as Qwen        SET, in brackets, is in permissions.py
    form: NAME…              elicitation, names in questions.py     form-json: {SCHEMA}
    own: TOOL {JSON}         calls one of Fairlead's own tools      (with the SDK only)

Orders that end, delay or break the turn:

    stop: REASON             the stop reason, known or not          error: CODE TEXT      a JSON-RPC error
    error-said: CODE TEXT    the text as a chunk, then the error    hang                  until it is cancelled
    hang-deaf                not even then                          hold: FIFO            until FIFO was written to
    cancel-slowly: FIFO      says `Stopping.`, ends with the FIFO   await-steering        until steered
    quiet                    an end without a word                  respond-twice         the response comes again
    error-told: TEXT         a status and the text, as Codex tells an error of its model; the turn ends well
    first-time: FILE         the rest only if FILE is new
    exit: CODE [STDERR]      the process ends                       cut: CODE             in the middle of a line
    garbage                  lines that are no JSON-RPC             raw: LINE             SESSION in it is replaced
    call: METHOD [{JSON}]    says the client's result or error      flood: N [thought]    chunks `w0 w1 …`
    big: MB [tool]           one line of so many megabytes          stderr: TEXT
    close-stdout             and stay                               deaf                  stop reading stdin
    grandchild               in a session of its own                unasked-tool: FIFO WHAT    never ends

A test makes the FIFO with `os.mkfifo`. Opening it for writing returns when the agent waits there, and the agent goes on
when it is closed. Switches (switches.py has the defaults):

    bare                 without the SDK
    like                 claude, codex, gemini, opencode, qwen, copilot, hermes: all switches as that agent has them
    notes                a file: one JSON line for the start (argv, cwd, environment, pid), each message, and the end
    state                the directory of the sessions, else HOME/.scripted-acp
    stderr, exit_code    printed at the start; of a process that exits
    garbage              lines that are no JSON-RPC before each line
    ignore               of INT,TERM,HUP,EOF
    grandchild           quiet, holds-stdout: left at the start, in a session of its own
    initialize, new      what becomes of these requests: answers, hangs, exits, error [CODE TEXT], hold FIFO (answers
                         when the FIFO was written to), restarts N (so often an error of Codex's that may pass)
    on                   the same for any method, and `start` for the process: {"session/load": "hangs"}
    name, version        agentInfo; `--version` prints the version
    protocol             the protocol version it answers with
    auth                 none, listed (a terminal method), required (session/new fails with -32000)
    login                a file: while it exists the person is logged in
    auth_status          the notification `_auth/status_update` before the response of session/new
    capabilities         load,resume,list,close,fork,image,audio,embedded,steering: what is offered, and what is there
    settings             models,modes (old style), config (config options): what is offered, and what can be set
    models, modes        their ids, the first one is set            options_offered    mode,model,effort,fast,allow_all
    says_mode            a mode is confirmed in a message chunk outside of a turn, as Gemini does
    commands             their names; with commands_when (before and after the response of session/new, turn) and
                         commands_bytes, the length of each description
    session_prefix       of the session ids
    replay               before, after, none: at session/load       resume_replays     updates at session/resume
    lost_when_killed     sessions are saved only when stdin ends    gone               the error for an unknown session
    tools                plain, or the name of an agent: how tool calls show on the wire (tool_styles.py)
    options              the set of options for `ask`               rejected           goes on, ends, info, cancelled
    cancelled            the stop reason of a cancelled turn, or error CODE TEXT
    cancelled_tool       failed, completed, none: the update that an open tool gets
    cancel_while_asking  at once, cancel request (sends `$/cancel_request`), after the answer
    second_prompt        queue, cancel (the first), fails first, together (both responses at the end), error
    usage                in the response: turn, cumulative, last, quota, none (`turn,quota` for both); chunk (as Qwen)
    usage_when_loaded    goes on, zero: what a cumulative count does in a new process
    usage_when_cancelled none, null, zero                           context            none, plain, cost: usage_update
    title                none, before, after the response           message_ids        on chunks
"""
