"""What `fairlead chat` was asked for."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from fairlead.core.identity import LOCAL_USER

Bell = Literal["needed", "always", "never"]

ServerState = Literal["up", "stopping", "gone"]
"""Gone: no process holds the state directory. Stopping: one holds it and serves nobody, as when it starts too."""


class ChatOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`directory` is where the person stands, and `home` their home directory; `example` is a directory to begin in
    where there is no other project, without a question. `history` remembers the lines typed, `files` is where files of
    answers are put; `lang` is the language that the terminal speaks.

    `message` is said first. With `print_only` its answer is printed and nothing more, `as_json` as one JSON object.
    `allow` names the tools that may be used once each time a permission is asked for and nobody can be asked; `is_new`
    begins a new conversation, and with `worktree` the session works in a git worktree of its own. `look_at_server` says
    what became of a server that does not respond. A chat that `hosts_server` in its own process must not be
    suspended."""

    user: str = LOCAL_USER
    project: str | None = None
    tool: str | None = None
    directory: str | None = None
    home: str = ""
    example: str = ""
    history: Path | None = None
    files: Path | None = None
    lang: str = "en"
    message: str = ""
    print_only: bool = False
    as_json: bool = False
    allow: tuple[str, ...] = ()
    is_new: bool = False
    worktree: bool = False
    bell: Bell = "needed"
    look_at_server: Callable[[], ServerState] | None = None
    hosts_server: bool = False
