"""Acts as `codex exec` and writes into a file of its own which prompts it got. Knows no Fairlead.

So what ran is known from the agent's side, whatever the journal says. A prompt's line `this is KEY` names it; `nap N`
makes the turn last N seconds; `until FILE` makes it last until there is such a file; `write FILE` leaves a file in its
directory; `stubborn` lets it go on when it is asked to end, when nobody reads what it prints, and when whoever started
it is gone.
"""

import contextlib
import json
import os
import re
import shlex
import signal
import sys
import time
import uuid
from pathlib import Path


def write_program(directory: Path, notes: Path) -> Path:
    program = directory / "counting-codex"
    program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-IS", __file__, str(notes)])} "$@"\n')
    program.chmod(0o755)
    return program


def note(notes: str, what: str, key: str) -> None:
    """One write of one line: what several agents write at the same time is not mixed up."""
    line = json.dumps({"what": what, "key": key, "pid": os.getpid()}) + "\n"
    handle = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(handle, line.encode())
    os.close(handle)


def tell(event: dict) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(1, (json.dumps(event) + "\n").encode())


def main() -> None:
    if "--version" in sys.argv:
        print("codex-cli 0.166.0")
        return
    notes, prompt = sys.argv[1], sys.stdin.read()
    key = re.findall(r"this is (\S+)", prompt)[-1]
    if "stubborn" in prompt:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
    note(notes, "begun", key)
    resumed = re.search(r"resume (\S+)", " ".join(sys.argv))
    tell({"type": "thread.started", "thread_id": resumed[1] if resumed else str(uuid.uuid4())})
    tell({"type": "turn.started"})
    nap = re.search(r"nap ([\d.]+)", prompt)
    time.sleep(float(nap[1]) if nap else 0.0)
    until = re.search(r"until (\S+)", prompt)
    while until and not os.path.exists(until[1]):  # noqa: PTH110 - pathlib is slow to import
        time.sleep(0.01)
    write = re.search(r"write (\S+)", prompt)
    if write:
        Path(write[1]).write_text(f"this is {key}\n")
    tell({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": f"this is {key}"}})
    tell({"type": "turn.completed", "usage": {"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1}})
    note(notes, "ended", key)


if __name__ == "__main__":
    main()
