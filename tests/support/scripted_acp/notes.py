"""The NOTES file: one JSON line for the start, for each message that came in, and for the end."""

import json
import os
import threading
from typing import Any

_OURS = ("PYTHONPATH",)  # the shim sets it, not the caller


class Notes:
    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()

    def start(self, arguments: list[str]) -> None:
        environment = {key: value for key, value in os.environ.items() if key not in _OURS}
        self._write("start", argv=arguments, cwd=os.getcwd(), pid=os.getpid(), environment=environment)

    def message(self, message: Any) -> None:
        if not isinstance(message, dict):
            self._write("other", message=message)
        elif "method" in message:
            kind = "request" if "id" in message else "notification"
            self._write(kind, method=message["method"], params=message.get("params"))
        else:
            self._write("response", **{key: message[key] for key in ("id", "result", "error") if key in message})

    def end(self, reason: str) -> None:
        self._write("end", reason=reason)

    def _write(self, kind: str, **what: Any) -> None:
        if not self._path:
            return
        line = json.dumps({"kind": kind, "pid": os.getpid(), **what}) + "\n"
        with self._lock, open(self._path, "a", encoding="utf-8") as file:
            file.write(line)
