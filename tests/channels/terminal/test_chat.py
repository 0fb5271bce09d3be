"""`fairlead chat` as a person has it: a real program in a real pseudo-terminal."""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import sys
import termios
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from fairlead.channels.terminal.live_view import LONG_TURN_SEC
from fairlead.render.words import ENGLISH
from tests.git.harness import git, make_repository
from tests.support.configured_agents import ScriptedAgent

PATIENCE_SEC = 15.0
CTRL_C, CTRL_D, CTRL_U = "\x03", "\x04", "\x15"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][AB0]|\x1b[=>]|\x1b\][^\x07]*\x07|\r")


class Terminal:
    """Types and reads. `wait_for` looks only at what came after the last thing it found."""

    def __init__(
        self, directory: Path, *words: str, start_in: str = "proj", program: tuple[str, ...] = (), **more: str
    ) -> None:
        (directory / "proj").mkdir(exist_ok=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "STATE_DIR": str(directory / "state"),
            "LOG_DIR": str(directory / "logs"),
            "FAIRLEAD_DRAIN_SEC": "0",
            "PROJECTS": json.dumps([str(directory / "proj")]),
            **more,
        }
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(directory / start_in)
            run = program or (sys.executable, "-m", "fairlead", *(words or ("chat",)))
            os.execvpe(run[0], run, environment)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self._state = Path(environment["STATE_DIR"])
        self._unread = ""
        self.seen = ""

    def type(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def say(self, line: str) -> None:
        self.type(f"{line}\r")

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE_SEC
        while text not in self._unread:
            assert time.monotonic() < deadline, f"{text!r} never came; seen:\n{self.seen[-3000:]}"
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"the program ended before {text!r}; seen:\n{self.seen[-3000:]}")
        self._unread = self._unread.partition(text)[2]

    def end(self) -> int:
        """Its exit code, once it has ended by itself."""
        deadline = time.monotonic() + PATIENCE_SEC
        while self._read(deadline - time.monotonic()):
            pass
        assert time.monotonic() < deadline, f"the program did not end; seen:\n{self.seen[-3000:]}"
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        """Nothing is left: neither the chat nor the daemon that it started, however much that has to do."""
        self.close_window()
        kill_daemon(self._state)

    def close_window(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._fd], [], [], max(0.0, seconds))
        if not ready:
            return False
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # Linux says EIO when the other side has closed
            return False
        text = _ESCAPES.sub("", data.decode("utf-8", "replace"))
        self.seen += text
        self._unread += text
        return bool(data)


def kill_daemon(state: Path) -> None:
    holder = (state / "lock").read_text().split()[:1] if (state / "lock").exists() else []
    for pid in map(int, holder):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def terminal(tmp_path: Path) -> Generator[Terminal]:
    opened = Terminal(tmp_path)
    yield opened
    opened.close()


@pytest.mark.req("C6", "C8")
def test_a_person_talks_answers_questions_and_leaves(terminal: Terminal, tmp_path: Path):
    terminal.wait_for("Fairlead · local · proj · echo · ")
    terminal.say("hello **there**")
    terminal.wait_for("echo agent:fairlead:user:local: hello there")
    terminal.say("/tool Bash ls -la")
    terminal.wait_for("Usage: /tool [NAME]")
    terminal.say("//tool Bash ls -la")
    terminal.wait_for("✓")
    terminal.say("/ask rm -rf build")
    terminal.wait_for("[y] Allow once   [s] Allow for this session   [n] Deny")
    terminal.type("s")
    terminal.wait_for("→ Allow for this session")
    terminal.wait_for("allowed: rm -rf build")
    terminal.say("/question Which colour? | red | blue")
    terminal.wait_for("2. blue")
    terminal.type("2")
    terminal.wait_for("the answer to Which colour? is blue")
    terminal.say("/status")
    terminal.wait_for("resume_ready: yes")
    terminal.wait_for("› ")
    terminal.type("/agent model echo-")
    terminal.wait_for("echo-2")
    terminal.say("2")
    terminal.wait_for("Switched the model to echo-2")
    terminal.say("/agent mode plan")
    terminal.wait_for("The mode is now plan, until Fairlead is restarted")
    terminal.wait_for("› ")
    terminal.type(CTRL_D)
    assert terminal.end() == 0
    history = tmp_path / "state" / "chat-history"
    assert "hello **there**" in history.read_text()
    assert history.stat().st_mode & 0o777 == 0o600


@pytest.mark.req("C6")
def test_ctrl_c_cancels_the_turn_and_a_second_one_leaves(terminal: Terminal):
    terminal.wait_for("Fairlead · local")
    terminal.say("/hang")
    terminal.wait_for("Ctrl-C cancels")
    terminal.type(CTRL_C)
    terminal.wait_for(": Cancelled")
    terminal.say("/hang deaf")
    terminal.wait_for("› /hang deaf")
    terminal.wait_for("Ctrl-C cancels")
    terminal.type(CTRL_C)
    terminal.wait_for("Ctrl-C again exits")
    terminal.type(CTRL_C)
    assert terminal.end() == 0, terminal.seen[-3000:]


@pytest.mark.req("C6")
def test_leaving_a_turn_does_not_cancel_it_and_the_next_chat_brings_it_back(terminal: Terminal, tmp_path: Path):
    terminal.wait_for("Fairlead · local")
    terminal.say("/question Ready? | yes")
    terminal.wait_for("or your own words")
    terminal.type(CTRL_D)
    terminal.wait_for("#1 keeps running. `fairlead chat` reconnects to it.")
    assert terminal.end() == 0
    back = Terminal(tmp_path)
    try:
        back.wait_for("#1 is waiting for your answer.")
        back.wait_for("or your own words")
        back.type("1")
        back.wait_for("the answer to Ready? is yes")
        back.wait_for("#1 · ")
        back.say("/slow 1")
        back.wait_for("echo is working")
        back.close_window()
        again = Terminal(tmp_path)
        try:
            again.wait_for("Fairlead · local")
            again.wait_for("#2")  # still running, or answered while nobody was there
            again.wait_for("turn 2 of talk")
        finally:
            again.close_window()
    finally:
        back.close()


@pytest.mark.req("C6")
def test_commands_work_at_once_during_a_turn_and_what_is_typed_is_seen(terminal: Terminal):
    terminal.wait_for("Fairlead · local")
    terminal.say("/hang")
    terminal.wait_for("s · Ctrl-C cancels · Ctrl-D leaves it running")
    terminal.wait_for("echo is working … 1")  # after one second, or after ten
    terminal.type("and then th")
    terminal.wait_for("› and then th")
    terminal.say("is")
    terminal.wait_for("#2 is queued.")
    terminal.say("/status")
    terminal.wait_for("Working on #1, started ")
    terminal.wait_for("1 more waiting.")
    terminal.say("/jobs")
    terminal.wait_for("#2    Queued")
    terminal.say("/why")
    terminal.wait_for("What happened to #2")
    terminal.say("/cancel 1")
    terminal.wait_for("Stopping #1")
    terminal.wait_for("#1: Cancelled")
    terminal.wait_for("user:local: and then this")
    terminal.wait_for("#2 · ")
    terminal.say("/why 1")
    terminal.wait_for("cancelled by")
    terminal.say("exit")
    assert terminal.end() == 0


def test_the_spinner_moves_and_a_turn_ends_with_what_it_used(terminal: Terminal):
    terminal.wait_for("Fairlead · local")
    terminal.say("/hang")
    for picture in ("⠋", "⠙"):
        terminal.wait_for(f"{picture} echo is working")
    terminal.say("/cancel")
    terminal.wait_for("#1: Cancelled")
    terminal.say("/usage 1200 300 0.01")
    terminal.wait_for("s · 1,200 tokens in, 300 out · $0.01")


BELL = "\x07"


def test_the_bell_rings_when_it_asks_and_at_the_end_of_a_long_turn(terminal: Terminal):
    terminal.wait_for("Fairlead · local")
    terminal.say("hello")
    terminal.wait_for("#1 · 0s")
    assert BELL not in terminal.seen, "nobody has looked away"
    terminal.say("/ask rm -rf build")
    terminal.wait_for(BELL)
    terminal.type("n")
    terminal.wait_for("#2 · ")
    terminal.wait_for("› ")
    terminal.say(f"/slow {LONG_TURN_SEC:.0f}")
    terminal.wait_for("#3 · ")
    terminal.wait_for(BELL)
    assert terminal.seen.count(BELL) == 2


@pytest.mark.parametrize(("setting", "rings"), [("always", 3), ("never", 0)])
def test_the_bell_rings_as_often_as_the_setting_says(tmp_path: Path, setting: str, rings: int):
    terminal = Terminal(tmp_path, FAIRLEAD_BELL=setting)
    try:
        terminal.wait_for("Fairlead · local")
        terminal.say("hello")
        terminal.wait_for("#1 · 0s")
        terminal.wait_for("› ")
        terminal.say("/ask rm -rf build")
        terminal.wait_for("[y] Allow once")
        terminal.type("n")
        terminal.wait_for("#2 · ")
        terminal.wait_for("› ")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
        assert terminal.seen.count(BELL) == rings
    finally:
        terminal.close()


@pytest.mark.req("B4")
def test_a_question_that_comes_while_somebody_types_takes_no_letter_of_their_line(terminal: Terminal):
    terminal.wait_for("Fairlead · local")
    terminal.type("\x1b[200~/slow 2\n/ask rm -rf build\x1b[201~\r")
    terminal.wait_for("Ctrl-C cancels")
    terminal.type("sa")
    terminal.wait_for("Finish your line first")
    terminal.type("y yes 1\x1b[200~yes\x1b[201~")
    terminal.wait_for("› say yes 1yes")
    terminal.type(CTRL_U)
    terminal.wait_for("[y] Allow once")
    terminal.type("\x1b[200~yes\x1b[201~")
    terminal.wait_for("› yes")
    terminal.type(CTRL_U)
    terminal.wait_for("[y] Allow once")
    terminal.type("n")
    terminal.wait_for("→ Deny")


@pytest.mark.skipif(shutil.which("bash") is None, reason="only a shell with job control stops a program")
def test_a_turn_is_suspended_by_ctrl_z_and_goes_on(tmp_path: Path):
    terminal = Terminal(tmp_path, program=("bash", "--norc", "-i"), PS1="$ ")
    try:
        terminal.wait_for("$ ")
        terminal.say(f"{sys.executable} -m fairlead chat")
        terminal.wait_for("Fairlead · local")
        terminal.say("/ask rm -rf build")
        terminal.wait_for("[y] Allow once")
        terminal.type("\x1a")
        terminal.wait_for("Stopped")
        terminal.say("fg")
        terminal.wait_for("[y] Allow once")
        terminal.type("y")
        terminal.wait_for("allowed: rm -rf build")
        terminal.wait_for("› ")
        terminal.say("/quit")
        terminal.wait_for("$ ")
        terminal.say("exit")
    finally:
        terminal.close()


def test_an_idle_chat_shows_what_it_did_not_ask_for(terminal: Terminal, tmp_path: Path):
    terminal.wait_for("Fairlead · local")
    terminal.wait_for("› ")
    other = Terminal(tmp_path)
    try:
        other.wait_for("Fairlead · local")
        other.say("//unasked the build is green")
        other.wait_for("#2, started by the agent itself")
        other.wait_for("the build is green")
        terminal.wait_for("#1, from another chat: /unasked the build is green")
        terminal.wait_for("started by the agent itself")
        terminal.wait_for("the build is green")
        terminal.type("half a line")
        other.say("a word from there")
        terminal.wait_for("user:local: a word from there")
        terminal.wait_for("› half a line")
        terminal.say(" and its end")
        terminal.wait_for("user:local: half a line and its end")
        terminal.wait_for("› ")
        terminal.type("sa")
        other.say("/ask rm -rf build")
        terminal.wait_for("Finish your line first")
        terminal.type(CTRL_U)
        terminal.wait_for("[y] Allow once")  # whoever is there may answer
        terminal.type("y")
        other.wait_for("Allow once")
        other.wait_for("allowed: rm -rf build")
    finally:
        other.close_window()


@pytest.mark.req("C6")
def test_what_is_typed_and_sent_while_a_turn_runs_is_the_next_message(terminal: Terminal):
    terminal.wait_for("Fairlead · local")
    terminal.say("/question Ready? | yes")
    terminal.wait_for("or your own words")
    terminal.type("1")
    terminal.say("and then this")
    terminal.wait_for("› and then this")
    terminal.wait_for("echo agent:fairlead:user:local: and then this")
    terminal.wait_for("› ")
    terminal.type(CTRL_D)
    assert terminal.end() == 0


@pytest.mark.req("C6")
def test_ctrl_c_at_the_prompt_warns_once(terminal: Terminal):
    terminal.wait_for("Fairlead · local")
    terminal.wait_for("› ")
    terminal.type(CTRL_C)
    terminal.wait_for("Press Ctrl-C again, or Ctrl-D, to exit")
    terminal.wait_for("› ")
    terminal.type(CTRL_C)
    assert terminal.end() == 0


@pytest.mark.req("C6")
def test_an_agent_cannot_write_escape_sequences_to_the_terminal(terminal: Terminal):
    terminal.wait_for("Fairlead · local")
    terminal.type("\x1b[200~title \x1b]0;owned\x07 set\x1b[201~\r")  # pasted, so that the escape is text
    terminal.wait_for("<U+001B>]0;owned<U+0007>")
    terminal.say("/quit")
    assert terminal.end() == 0


@pytest.mark.req("C6", "B4")
def test_a_question_from_before_a_restart_is_asked_again_and_its_answer_begins_a_job(tmp_path: Path):
    before = Terminal(tmp_path)
    before.wait_for("Fairlead · local")
    before.say("/question Which colour? | red | blue")
    before.wait_for("or your own words")
    before.close()
    after = Terminal(tmp_path)
    try:
        after.wait_for("while you were away")
        after.wait_for("asked this before a restart")
        after.wait_for("? Which colour?")
        after.wait_for("or your own words")
        after.type("2")
        after.wait_for("Answer: blue")
        after.wait_for("› ")
        after.type(CTRL_D)
        assert after.end() == 0
    finally:
        after.close()


@pytest.mark.req("C6", "B4")
def test_a_question_from_before_a_restart_may_be_left_open_and_a_permission_is_not_asked_again(tmp_path: Path):
    before = Terminal(tmp_path)
    before.wait_for("Fairlead · local")
    before.say("/ask rm -rf build")
    before.wait_for("[y] Allow once")
    before.close()
    between = Terminal(tmp_path)
    between.wait_for("while you were away")
    between.wait_for("› ")
    assert "is waiting for your answer" not in between.seen
    between.say("/question Which colour? | red | blue")
    between.wait_for("or your own words")
    between.close()
    after = Terminal(tmp_path)
    try:
        after.wait_for("? Which colour?")
        after.wait_for("or your own words")
        after.type(CTRL_C)
        after.wait_for("stays open")
        after.wait_for("› ")
        after.type(CTRL_D)
        assert after.end() == 0
    finally:
        after.close()


@pytest.mark.req("B1", "B4", "C6")
def test_an_acp_agent_is_started_commanded_and_stopped_in_the_terminal(tmp_path: Path):
    agent = ScriptedAgent(tmp_path, "mine")
    terminal = Terminal(tmp_path, AGENT_COMMAND=json.dumps([str(agent.program)]))
    try:
        terminal.wait_for("› ")
        terminal.say("/agent start proj")
        terminal.wait_for("Session started")
        terminal.wait_for("tool: acp")
        terminal.say("/agent status")
        terminal.wait_for("state: Active")
        terminal.say("/agent model scripted-2")
        terminal.wait_for("Switched the model to scripted-2")
        terminal.say("which model?")
        terminal.wait_for("model=scripted-2")
        terminal.say("/agent command compact now")
        terminal.wait_for("Ran the command /compact now")
        terminal.say("/review it")
        terminal.wait_for("Ran the command /review it")
        terminal.say("ask: rm -rf build")
        terminal.wait_for("[y] Allow once")
        terminal.type("y")
        terminal.wait_for("Chose once")
        terminal.say("/agent usage")
        terminal.wait_for("input_tokens: ")
        terminal.say("/agent kill")
        terminal.wait_for("The session was killed")
        terminal.wait_for("› ")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert agent.processes_with("session/new") == agent.processes_with("session/prompt")[:1]


@pytest.mark.req("C6", "B4")
def test_a_person_refuses_with_words_and_makes_a_rule_that_is_listed_and_removed(terminal: Terminal):
    terminal.wait_for("› ")
    terminal.say("/ask rm -rf build")
    terminal.wait_for("[b] No, because …")
    terminal.type("b")
    terminal.wait_for("Why not? Type the reason, then press Enter")
    terminal.type("use make clean\r")
    terminal.wait_for("→ Deny: use make clean")
    terminal.wait_for("denied: rm -rf build (use make clean)")
    terminal.say("/rules")
    terminal.wait_for("There are no standing rules.")
    terminal.say("/ask pytest -q")
    terminal.wait_for("[1] Always: `pytest …` in proj, with any arguments")
    terminal.type("1")
    terminal.wait_for("→ Always: `pytest …` in proj, with any arguments")
    terminal.wait_for("allowed: pytest -q")
    terminal.say("/ask pytest -x")
    terminal.wait_for("✓ Allowed by rule 1: pytest …")
    terminal.wait_for("allowed: pytest -x")
    terminal.say("/rules")
    terminal.wait_for("1. pytest … (project: proj, used: 1, last: ")
    terminal.say("/rules remove 1")
    terminal.wait_for("Removed rule 1: pytest … in proj")
    terminal.say("/rules remove 1")
    terminal.wait_for("E_RULE_NOT_FOUND")
    terminal.wait_for("› ")
    terminal.type(CTRL_D)
    assert terminal.end() == 0


def english_sentences() -> set[str]:
    """Every run of at least two words that stands in the English catalogue, outside of its gaps."""
    parts = (part for words in ENGLISH.values() for part in re.split(r"\{\w+\}|\[\[|\]\]", words))
    return {part.strip() for part in parts if re.search(r"[A-Za-z]{2,} [a-z]{2,}", part)}


@pytest.mark.req("C6", "B8")
def test_a_talk_in_japanese_has_no_english_sentence_of_ours(tmp_path: Path):
    terminal = Terminal(tmp_path, LANG="ja_JP.UTF-8")
    try:
        terminal.wait_for("/help でコマンド一覧")
        terminal.say("/help")
        terminal.wait_for("プロジェクトと使えるエージェントを一覧表示する")
        terminal.say("//tool Bash ls -la")
        terminal.wait_for("コマンドを実行中… ls -la")
        terminal.say("/ask rm -rf build")
        terminal.wait_for("エージェントが許可を求めています")
        terminal.wait_for("[y] 今回だけ許可   [s] このセッションで許可   [n] 拒否")
        terminal.type("n")
        terminal.wait_for("→ 拒否")
        terminal.wait_for("denied: rm -rf build")
        terminal.say("/question Which? | red | blue")
        terminal.wait_for("[1-2]、または自由に入力して Enter")
        terminal.type("2")
        terminal.wait_for("is blue")
        terminal.say("/fail E_CLI_TIMEOUT")
        terminal.wait_for("E_CLI_TIMEOUT: エージェントの処理が制限時間を超えました")
        terminal.wait_for("で再試行できます")
        terminal.say("/agent mode plan")
        terminal.wait_for("モードを plan に変更しました")
        terminal.say("/retry job_1")
        terminal.wait_for("E_JOB_NOT_FOUND: ジョブが見つかりません")
        terminal.say("/hang")
        terminal.wait_for("Ctrl-C で取り消し")
        terminal.type(CTRL_C)
        terminal.wait_for("取り消しています")
        terminal.wait_for("取り消し済み")
        terminal.say("/reset")
        terminal.wait_for("会話をリセットしました")
        terminal.wait_for("› ")
        terminal.type(CTRL_C)
        terminal.wait_for("もう一度 Ctrl-C、または Ctrl-D")
        terminal.wait_for("› ")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert sorted(sentence for sentence in english_sentences() if sentence in terminal.seen) == []


# --- where the agent works


@pytest.fixture
def elsewhere(tmp_path: Path) -> Generator[Terminal]:
    (tmp_path / "myapp" / ".git").mkdir(parents=True)
    (tmp_path / "myapp" / "src").mkdir()
    opened = Terminal(tmp_path, start_in="myapp/src")
    yield opened
    opened.close()


@pytest.mark.req("C6")
def test_a_directory_that_is_no_project_yet_is_offered_and_the_agent_works_there(elsewhere: Terminal, tmp_path: Path):
    elsewhere.wait_for("~/myapp is not a project yet. May agents work in it? [Y/n]")
    elsewhere.say("")
    elsewhere.wait_for("Fairlead · local · myapp · echo")
    elsewhere.say("hello")
    elsewhere.wait_for("user:local: hello")
    elsewhere.say("/project add ../../proj/.")
    elsewhere.wait_for("Project proj is already registered")
    elsewhere.say("/project rename myapp shop")
    elsewhere.wait_for("Project myapp is now called shop")
    elsewhere.say("still there?")
    elsewhere.wait_for("user:local: still there?")
    elsewhere.wait_for("› ")
    elsewhere.type(CTRL_D)
    assert elsewhere.end() == 0
    events = [json.loads(line) for line in (tmp_path / "state" / "events.ndjson").read_text().splitlines()]
    started = [line["payload"]["project_path"] for line in events if line["type"] == "JobStarted"]
    assert started == [str(tmp_path / "myapp")] * 2


@pytest.mark.req("C6")
def test_a_person_who_declines_works_in_the_project_at_hand_and_is_told_so(elsewhere: Terminal):
    elsewhere.wait_for("[Y/n]")
    elsewhere.say("n")
    elsewhere.wait_for("Fairlead · local · proj · echo")
    elsewhere.wait_for("~/myapp/src is not a project; working in proj.")


@pytest.mark.req("C6")
def test_the_home_directory_is_a_project_only_if_somebody_says_so(tmp_path: Path):
    terminal = Terminal(tmp_path, start_in=".")
    try:
        terminal.wait_for("This is your home directory: an agent could change anything in it.")
        terminal.wait_for("May agents work in ~ anyway? [y/N]")
        terminal.say("")
        terminal.wait_for("Fairlead · local · proj · echo")
    finally:
        terminal.close()


@pytest.mark.req("C6")
def test_without_a_project_a_person_is_told_once_what_to_do(tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    terminal = Terminal(tmp_path, start_in="elsewhere", PROJECTS="")
    try:
        terminal.wait_for("~/elsewhere is not a project yet. May agents work in it? [Y/n]")
        terminal.say("n")
        terminal.wait_for("E_PROJECT_NOT_SELECTED: ~/elsewhere is not a project. Change to your project's directory")
        assert terminal.end() == 1
        assert terminal.seen.count("Change to your project's directory") == 1
    finally:
        terminal.close()


def test_a_person_who_talks_to_echo_is_told_what_it_is_and_who_asked_for_it_is_not(tmp_path: Path):
    terminal, asked = Terminal(tmp_path), Terminal(tmp_path, "chat", "--tool", "echo")
    try:
        terminal.wait_for(
            "echo only repeats what you say (//help: what it can do). Install claude, codex or gemini to work."
        )
        asked.wait_for("Fairlead · local")
        asked.wait_for("› ")
        assert "only repeats" not in asked.seen
    finally:
        asked.close()
        terminal.close()


@pytest.mark.req("C6", "A21")
def test_up_begins_in_an_example_and_a_second_up_joins_the_first(tmp_path: Path):
    """As `make run` does it, from Fairlead's own checkout."""
    checkout = Path(__file__).parents[3]
    words = ("up", "--example")
    first = Terminal(tmp_path, *words, start_in=str(checkout), PROJECTS="", FAIRLEAD_HTTP_PORT="0")
    try:
        first.wait_for("Fairlead · local · example · echo · ")
        first.wait_for("Registered ~/.local/share/fairlead/example as project example.")
        second = Terminal(tmp_path, *words, start_in=str(checkout), PROJECTS="", FAIRLEAD_HTTP_PORT="0")
        try:
            second.wait_for("Fairlead is already running; this chat connects to it.")
            second.wait_for("Fairlead · local · example · echo · ")
            second.say("hello")
            second.wait_for("user:local: hello")
        finally:
            second.close()
    finally:
        first.close()


# --- the daemon behind a chat


def test_a_chat_says_at_once_that_its_fairlead_is_stopped(tmp_path: Path):
    served = Terminal(tmp_path, "up", FAIRLEAD_HTTP_PORT="0", FAIRLEAD_DRAIN_SEC="0")
    try:
        served.wait_for("Fairlead · local")
        chat, idle = Terminal(tmp_path), Terminal(tmp_path)
        try:
            idle.wait_for("Fairlead · local")
            chat.wait_for("Fairlead · local")
            chat.say("/hang")
            chat.wait_for("echo is working")
            served.wait_for("from another chat: /hang")
            served.wait_for("› ")
            served.type(CTRL_D)
            served.wait_for("Fairlead keeps running for now: 1 unfinished job(s)")
            os.kill(served.pid, signal.SIGTERM)
            served.wait_for("Stopping: 1 running job(s)")
            chat.wait_for("Fairlead was stopped.")
            chat.wait_for("waiting for Fairlead to come back")
            idle.wait_for("Fairlead was stopped.")
            assert served.end() == 0
            chat.type(CTRL_D)
            assert chat.end() == 0
        finally:
            chat.close()
            idle.close()
    finally:
        served.close()


def test_who_leaves_the_only_chat_is_told_of_the_job_alone(tmp_path: Path):
    served = Terminal(tmp_path, "up", FAIRLEAD_HTTP_PORT="0")
    try:
        served.wait_for("Fairlead · local")
        served.say("/hang")
        served.wait_for("echo is working")
        served.type(CTRL_D)
        served.wait_for("#1 keeps running.")
        served.wait_for("Fairlead keeps running for now: 1 unfinished job(s). It stops when they are done; Ctrl-C")
        served.type(CTRL_C)
        served.wait_for("Stopped. All accepted messages are saved.")
        assert served.end() == 0
    finally:
        served.close()


def test_a_person_who_leaves_a_turn_whose_fairlead_was_killed_is_not_told_that_it_keeps_running(
    terminal: Terminal, tmp_path: Path
):
    terminal.wait_for("Fairlead · local")
    terminal.say("/hang")
    terminal.wait_for("echo is working")
    kill_daemon(tmp_path / "state")
    terminal.wait_for("Fairlead was stopped. All accepted messages are saved; `fairlead chat` starts it again.")
    terminal.wait_for("waiting for Fairlead to come back")
    terminal.wait_for("s · Ctrl-D exits")  # there is nothing to cancel, and nothing keeps running
    terminal.type(CTRL_D)
    assert terminal.end() == 0
    assert "keeps running" not in terminal.seen
    assert terminal.seen.count("Fairlead was stopped.") == 1


def test_up_takes_the_place_of_a_daemon_for_chats_and_the_chat_finds_it(terminal: Terminal, tmp_path: Path):
    terminal.wait_for("› ")
    served = Terminal(tmp_path, "up", "--no-chat", FAIRLEAD_HTTP_PORT="0")
    try:
        served.wait_for("Another Fairlead runs here")
        served.wait_for("Fairlead is up.")
        terminal.wait_for("Reconnected.")
        terminal.say("hello")
        terminal.wait_for("user:local: hello")
    finally:
        served.close()


@pytest.mark.req("F5")
def test_a_chat_works_in_a_worktree_merges_it_and_names_it_when_it_comes_back(tmp_path: Path):
    project = make_repository(tmp_path / "proj", a="one\n")
    (project / "draft").write_text("x")
    chat = Terminal(tmp_path, "chat", "--worktree")
    try:
        chat.wait_for("This session works in its own worktree now, on branch fairlead/proj-")
        chat.wait_for("1 uncommitted files of the project stay behind")
        chat.wait_for("worktree: ")
        [path] = (tmp_path / "state" / "worktrees" / "proj").iterdir()
        chat.say("/write b.txt new")
        chat.wait_for("[y]")
        chat.type("y")
        chat.wait_for("wrote b.txt")
        chat.wait_for("#1")
        assert (path / "b.txt").read_text() == "new\n"
        chat.say("/merge")
        chat.wait_for("E_UNCOMMITTED_WORK")
        chat.wait_for("b.txt")
        git(path, "add", "-A")
        git(path, "commit", "-q", "-m", "add b")
        chat.say("/merge")
        chat.wait_for("1 commits, 1 files")
        chat.say("/worktree")
        chat.wait_for("Everything in it is merged.")
        chat.wait_for("› ")
        chat.type(CTRL_D)
        assert chat.end() == 0
        again = Terminal(tmp_path, "chat")
        again.wait_for("worktree: fairlead/proj-")
        again.say("/discard")
        again.wait_for("/worktree restore 1")
        again.wait_for("› ")
        again.type(CTRL_D)
        assert again.end() == 0
    finally:
        chat.close()
    assert (project / "b.txt").read_text() == "new\n"


@pytest.mark.req("F6")
def test_texts_for_a_turn_that_runs_are_told_once_each(terminal: Terminal):
    terminal.wait_for("› ")
    terminal.say("/slow 600")
    terminal.wait_for("echo is working … 1")
    terminal.say("a message that waits")
    terminal.wait_for("#2 is queued.")
    terminal.say("!use make instead")
    terminal.say("/steer 2")
    terminal.say("/steer")
    for _ in range(3):
        terminal.wait_for("Given to the turn of #1")
    terminal.say("/cancel 1")
    terminal.wait_for("#1: Cancelled")
    terminal.wait_for("#2: Cancelled")
    terminal.wait_for("#3: Cancelled")
    terminal.say("exit")
    assert terminal.end() == 0
    assert terminal.seen.count("#2: ") == 1


@pytest.mark.req("F6")
def test_a_text_without_a_turn_is_told_once(terminal: Terminal):
    terminal.wait_for("› ")
    terminal.say("/steer use make instead")
    terminal.wait_for("No turn was running: #1 has one of its own")
    terminal.wait_for("user:local: use make instead")
    terminal.wait_for("› ")
    assert "Not taken into the turn" not in terminal.seen


@pytest.mark.req("F7")
def test_a_chat_goes_on_in_a_fork_with_a_worktree_and_back(tmp_path: Path):
    make_repository(tmp_path / "proj", a="one\n")
    chat = Terminal(tmp_path)
    try:
        chat.wait_for("› ")
        chat.say("said before the fork")
        chat.wait_for("user:local: said before the fork")
        chat.say("/fork worktree:yes")
        chat.wait_for("The conversation goes on in fork-")
        chat.wait_for("on branch fairlead/proj-")
        chat.wait_for("/session switch")
        chat.wait_for("leads back")
        chat.say("/write b.txt new")
        chat.wait_for("[y]")
        chat.type("y")
        chat.wait_for("wrote b.txt")
        chat.say("/recall")
        chat.wait_for("1 said before the fork")
        chat.wait_for("#3")
        chat.say("/session switch")
        chat.wait_for("user:local")
        chat.say("/recall")
        chat.wait_for("2 /recall")
        chat.wait_for("› ")
        chat.type(CTRL_D)
        assert chat.end() == 0
    finally:
        chat.close()
    [path] = (tmp_path / "state" / "worktrees" / "proj").iterdir()
    assert (path / "b.txt").read_text() == "new\n"
    assert not (tmp_path / "proj" / "b.txt").exists()
