"""What the commands print. Text from outside (an agent's, Discord's, a file's) stands in almost all of it, so all of it
passes here: a terminal gets nothing that it would obey. A file or a pipe gets the text as it is, because a program that
reads it wants the bytes, and a terminal behind the pipe cannot be known."""

import sys

from fairlead.render.safe_text import visible_lines


def tell(text: str | bytes, *, err: bool = False) -> None:
    """A line of its own. `click.echo` would do it too, and is not loaded in a daemon."""
    stream = sys.stderr if err else sys.stdout
    is_terminal = stream.isatty()
    if isinstance(text, bytes) and not is_terminal:
        stream.flush()
        stream.buffer.write(text + b"\n")
        stream.buffer.flush()
        return
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    stream.write(f"{visible_lines(words) if is_terminal else words}\n")
    stream.flush()
