"""Talks in a terminal, or exchanges one message through a pipe."""

import sys
from typing import TextIO

from fairlead.api import Client
from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.piped import run_piped


async def run_chat(
    client: Client,
    options: ChatOptions,
    *,
    stdin: TextIO = sys.stdin,
    stdout: TextIO = sys.stdout,
    stderr: TextIO = sys.stderr,
) -> int:
    """Talk until the person leaves, or, without a terminal, exchange one message. The exit code."""
    if options.print_only or not (stdin.isatty() and stdout.isatty()):
        return await run_piped(client, options, stdin, stdout, stderr)
    return await _run_in_terminal(client, options, stdin, stdout)


async def _run_in_terminal(client: Client, options: ChatOptions, stdin: TextIO, stdout: TextIO) -> int:
    # A pipe needs no line editor: it is imported only here.
    from fairlead.channels.terminal.chat import talk_in_terminal  # noqa: PLC0415

    return await talk_in_terminal(client, options, stdin, stdout)
