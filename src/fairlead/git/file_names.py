"""Names of files as git gives them: bytes. Inside of this package they are text that can be opened, with surrogates for
what is no text; for people and the journal they are readable. Opens nothing."""

import os


def split_names(output: bytes) -> list[str]:
    """Of a list that git ends with NULs (`-z`)."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def join_names(names: "list[str]") -> bytes:
    """For git's `-z --stdin`."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def show_name(name: str) -> str:
    """For people: line ends, control characters and bytes that are no text as an escape."""
    if name.isprintable():
        return name
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
