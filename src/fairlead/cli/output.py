"""What the commands print. Text from outside (an agent's, Discord's, a file's) stands in almost all of it, so all of it
passes here: a terminal gets nothing that it would obey. A file or a pipe gets the text as it is, because a program that
reads it wants the bytes, and a terminal behind the pipe cannot be known."""

import sys

import click

from fairlead.render.safe_text import visible_lines


def tell(text: str | bytes, *, err: bool = False) -> None:
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        click.echo(visible_lines(words), err=err)
    else:
        click.echo(text, err=err, color=True)  # click would take colours out, which belong to an agent's text
