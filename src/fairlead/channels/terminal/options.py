"""What `fairlead chat` was asked for."""

from pathlib import Path

import msgspec

from fairlead.core.identity import LOCAL_USER


class ChatOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`directory` becomes the project where there is none to work in; `history` remembers the lines typed;
    `lang` is the language that the terminal speaks."""

    user: str = LOCAL_USER
    project: str | None = None
    tool: str | None = None
    directory: str | None = None
    history: Path | None = None
    lang: str = "en"
