"""`fairlead chat` as a person has it: a real program in a real pseudo-terminal."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from fairlead.render.words.en import WORDS as ENGLISH

PATIENCE_SEC = 15.0
CTRL_C, CTRL_D = "\x03", "\x04"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][AB0]|\x1b[=>]|\x1b\][^\x07]*\x07|\r")


class Terminal:
    """Types and reads. `wait_for` looks only at what came after the last thing it found."""

    def __init__(self, directory: Path, **more: str) -> None:
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
            **more,
        }
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(directory / "proj")
            os.execve(sys.executable, [sys.executable, "-m", "fairlead", "chat"], environment)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
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
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)

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


@pytest.fixture
def terminal(tmp_path: Path) -> Generator[Terminal]:
    opened = Terminal(tmp_path)
    yield opened
    opened.close()


@pytest.mark.req("C6", "C8")
def test_a_person_talks_answers_questions_and_leaves(terminal: Terminal, tmp_path: Path):
    terminal.wait_for("Fairlead · local · proj")
    terminal.say("hello **there**")
    terminal.wait_for("echo agent:fairlead:user:local: hello there")
    terminal.say("/tool Bash ls -la")
    terminal.wait_for("Usage: /tool NAME")
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
    terminal.wait_for("Ctrl-C again leaves")
    terminal.type(CTRL_C)
    assert terminal.end() == 0, terminal.seen[-3000:]


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
    terminal.wait_for("Ctrl-C again, or Ctrl-D, leaves")
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
    assert "waits for your answer" not in between.seen
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
        terminal.wait_for("プロジェクトと使えるツールを一覧表示する")
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
        terminal.wait_for("会話を忘れました")
        terminal.wait_for("› ")
        terminal.type(CTRL_C)
        terminal.wait_for("もう一度 Ctrl-C、または Ctrl-D")
        terminal.wait_for("› ")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert sorted(sentence for sentence in english_sentences() if sentence in terminal.seen) == []
