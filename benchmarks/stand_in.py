"""Agents that stand in for Claude and answer at once: one that stays, in Python, and one that lives for a turn, in sh.
Each writes down when it has a prompt and when it says its last line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from fairlead.kit.files import make_private_directory

_STAYS: Final = """#!{python}
import json, re, sys, time
if "--version" in sys.argv:
    raise SystemExit(print("2.1.325 (Claude Code)"))
def say(**event):
    sys.stdout.write(json.dumps(event) + "\\n")
    sys.stdout.flush()
for line in sys.stdin:
    asked = json.loads(line)
    if asked["type"] == "control_request":
        reply = {{"subtype": "success", "request_id": asked["request_id"], "response": {{}}}}
        say(type="control_response", response=reply)
    if asked["type"] != "user":
        continue
    got = time.time_ns()
    prompt = asked["message"]["content"]
    prompt = prompt if isinstance(prompt, str) else "".join(block.get("text", "") for block in prompt)
    work = re.search(r"work=([0-9.]+)", prompt)
    size = re.search(r"size=([0-9]+)", prompt)
    time.sleep(float(work.group(1)) if work else 0)
    answer = "word " * (int(size.group(1)) // 5) if size else "done"
    say(type="user", uuid=asked.get("uuid"), isReplay=True, message={{"content": ""}})
    with open("{file}", "a") as moments:
        moments.write(f"{{got}} {{time.time_ns()}}\\n")
    say(type="result", subtype="success", result=answer, user_message_uuid=asked.get("uuid"))
"""
_LIVES_FOR_A_TURN: Final = """#!/bin/sh
case "$1" in --version) echo "2.1.325 (Claude Code)"; exit;; esac
now=$(date +%s%N)
echo "$now $now" >> "{file}"
echo '{{"type":"result","subtype":"success","result":"done"}}'
"""


class Moment(msgspec.Struct, frozen=True):
    """Seconds by the clock on the wall."""

    got_prompt: float
    said_it: float


class StandIn:
    """A program called `claude` in `directory`/bin, and what it wrote down."""

    def __init__(self, directory: Path, text: str, **names: str) -> None:
        make_private_directory(directory / "bin")
        self._moments = directory / "moments.txt"
        self.program = directory / "bin" / "claude"
        self.program.write_text(text.format(file=self._moments, **names))
        self.program.chmod(0o755)

    def moments(self) -> list[Moment]:
        return list(self._read()) if self._moments.exists() else []

    def _read(self) -> Iterator[Moment]:
        for line in self._moments.read_text().splitlines():
            got, said = line.split()
            yield Moment(int(got) / 1e9, int(said) / 1e9)


def that_stays(directory: Path, python: str) -> StandIn:
    return StandIn(directory, _STAYS, python=python)


def that_lives_for_a_turn(directory: Path) -> StandIn:
    return StandIn(directory, _LIVES_FOR_A_TURN)
