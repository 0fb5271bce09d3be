"""`fairlead console`: a one-time link to the console in the browser, and the logins that such links became."""

import asyncio
import os
import sys
import webbrowser
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar
from urllib.parse import urlsplit

import click

from fairlead.api import Client
from fairlead.api.client import ServerAway
from fairlead.api.wire import ConsoleLoginInfo
from fairlead.app import take_lock
from fairlead.channels.http.token import read_token
from fairlead.cli.output import tell
from fairlead.cli.owner_commands import running_address
from fairlead.cli.settings_report import load_and_report
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.addresses import leaves_loopback
from fairlead.kit.process_hiding import hide_process
from fairlead.render.safe_text import one_line
from fairlead.settings import Settings

T = TypeVar("T")


@click.group(invoke_without_command=True)
@click.option("--as", "person", default="", metavar="PERSON", help="A link for a person of the allow-list.")
@click.option("--at", "address", default="", metavar="URL", help="The address by which the browser reaches Fairlead.")
@click.option("--print", "only_print", is_flag=True, help="Print the link and open no browser.")
@click.pass_context
def command(context: click.Context, *, person: str, address: str, only_print: bool) -> None:
    """Open the console in the browser, or print a link and a QR code. The link works once, within two minutes."""
    if context.invoked_subcommand is not None:
        return
    hide_process()  # it has the token
    settings = load_and_report()
    link = _ask(settings, lambda client: client.console_link(person))
    url = _check_address(address or running_address(settings)) + link.path
    tell(f"{url}\n")
    if only_print or person or not _can_open_browser(os.environ) or not webbrowser.open(url):
        _print_code(url)
        tell(
            f"Open this link in a browser: it logs {one_line(link.person, 60)} in, once, within {link.seconds} seconds."
        )


@command.command()
def logins() -> None:
    """List the browsers that are logged in."""
    hide_process()
    listed = _ask(load_and_report(), lambda client: client.console_logins()).logins
    for login in listed:
        tell(_describe(login))
    if not listed:
        tell("No browser is logged in. `fairlead console` logs one in.")


@command.command()
@click.argument("number", type=int)
def end(number: int) -> None:
    """End the login NUMBER: its browser is out at once."""
    hide_process()
    ended = _ask(load_and_report(), lambda client: client.end_console_login(number))
    tell(f"Ended login {ended.number}.")


def _ask(settings: Settings, use: Callable[[Client], Awaitable[T]]) -> T:
    """Raises E_CONFIG if no Fairlead runs here, or one without HTTP."""
    _check_runs(settings)

    async def ask() -> T:
        async with Client(running_address(settings), read_token(settings.state_dir), channel="terminal") as client:
            return await use(client)

    try:
        return asyncio.run(ask())
    except ServerAway as away:
        raise error(Code.E_CONFIG, f"{away}.", next_step="It may be starting or stopping. Try again.") from None


def _check_runs(settings: Settings) -> None:
    try:
        take_lock(settings.state_dir).release()
    except FairleadError as fault:
        if fault.code is Code.E_STATE_LOCKED:
            return
        raise
    raise error(
        Code.E_CONFIG,
        f"No Fairlead runs with the state directory {settings.state_dir}.",
        next_step="Start it with `fairlead up`, then run this again.",
    )


def _check_address(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
        raise error(
            Code.E_INVALID_ARGS,
            f"{address[:100]!r} is not an address such as https://fairlead.example.",
            next_step="Give the scheme and the name alone; Fairlead adds the path.",
        )
    return f"{parts.scheme}://{parts.netloc}"


def _can_open_browser(environment: Mapping[str, str]) -> bool:
    """Not in a session from another machine, where a browser would open on the wrong screen."""
    if not sys.stdout.isatty() or environment.get("SSH_CONNECTION"):
        return False
    return sys.platform == "darwin" or bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def _print_code(url: str) -> None:
    """A phone reads it. It cannot reach an address that is this machine's alone."""
    host = urlsplit(url).hostname or ""
    if not leaves_loopback(host) and host != "0.0.0.0":  # noqa: S104 - compared, not listened on
        tell('This address works on this computer. For a phone, see "A console in the browser" in the guide (--at).')
        return
    import segno  # only here: other commands need no codes

    segno.make(url, error="l").terminal(out=sys.stdout, compact=True, border=2)


def _describe(login: ConsoleLoginInfo) -> str:
    who = f"{one_line(login.person, 40)}{' (owner)' if login.is_owner else ''}"
    return f"{login.number:>3}  {who:<24} last used {login.used_at[:16]}Z  {one_line(login.browser, 60)}"
