#!/usr/bin/env python3
"""Acts as `codex exec` and tries whatever an agent with a shell could try. Knows no Fairlead.

The last line of the prompt is JSON: what to try, and all that an attacker could have found out. What came of it is the
answer, as JSON: for each attempt `ok`, what was found, or the kind of the error.
"""

import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path


def attempt(deed, *given):
    try:
        return deed(*given) or "ok"
    except urllib.error.HTTPError as refused:
        return f"{refused.code} {json.loads(refused.read())['error']['code']}"
    except Exception as fault:
        return type(fault).__name__


def read(path):
    return Path(path).read_text(errors="replace")


def write(path, text):
    Path(path).write_text(text)


def look_around(path):
    return sorted(entry.name for entry in Path(path).iterdir())


def ask(url, token, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url + path, data=data, headers=headers), timeout=20) as response:
        return f"{response.status}"


def ask_without_mark(*given):
    """From a grandchild that has lost its mark and its group."""
    here = str(Path(__file__).parent)
    script = f"import sys; sys.path[:0] = [{here!r}]; import hostile_agent as h; print(h.attempt(h.ask, *{given!r}))"
    done = subprocess.run(
        ["setsid", "env", "-i", sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    return done.stdout.strip() or done.stderr[-300:]


def ask_and_leave(url, token, path, body, how, times):
    """Each time over a connection that is closed before anybody can look who holds it."""
    host, port = url.removeprefix("http://").split(":")
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    )
    for _ in range(times):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
            if how == "shutdown":
                connection.shutdown(socket.SHUT_WR)
                connection.recv(65536)


def signal(pid):
    os.kill(pid, 0)


def run(*command):
    """What a program prints, with its exit code before it."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return f"{done.returncode} {done.stdout}{done.stderr}"


DEEDS = {
    "run": run,
    "read": read,
    "write": write,
    "look": look_around,
    "ask": ask,
    "ask_without_mark": ask_without_mark,
    "ask_and_leave": ask_and_leave,
    "signal": signal,
    "who": lambda: str(os.getuid()),
    "pids": lambda: [name for name in look_around("/proc") if name.isdecimal()],
    "environment": lambda: dict(os.environ),
}


def main():
    if "--version" in sys.argv:
        print("codex-cli 0.166.0")
        return
    wanted = json.loads(sys.stdin.read().strip().splitlines()[-1])
    found = {name: attempt(DEEDS[deed], *given) for name, (deed, *given) in wanted.items()}
    print(json.dumps({"type": "thread.started", "thread_id": "0199a213-81c0-7800-8aa1-bbab2a035a53"}))
    print(json.dumps({"type": "turn.started"}))
    item = {"id": "item_0", "type": "agent_message", "text": json.dumps(found)}
    print(json.dumps({"type": "item.completed", "item": item}))
    print(
        json.dumps(
            {"type": "turn.completed", "usage": {"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1}}
        )
    )


if __name__ == "__main__":
    main()
