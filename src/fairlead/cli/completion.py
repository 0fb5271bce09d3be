"""`fairlead completion`: install completion of commands and options for the shell that is in use."""

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from fairlead.cli.output import tell
from fairlead.cli.shells import SHELLS, ShellFiles
from fairlead.errors import Code, error
from fairlead.kit.files import read_if_there, replace_durably

_PROGRAM: Final = "fairlead"


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)), required=False)
@click.option("--print", "show", is_flag=True, help="Print the script and install nothing.")
def command(*, shell: str | None, show: bool) -> None:
    """Install completion for SHELL: bash, zsh or fish (default: the one of $SHELL)."""
    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise error(
            Code.E_CONFIG,
            f"There is no completion for the shell {name or '(SHELL is not set)'!r}.",
            next_step=f"Name one of {', '.join(SHELLS)}: fairlead completion bash",
        )
    script = _script(name)
    if show:
        tell(script)
        return
    files = SHELLS[name]
    try:
        target = _install(files, script)
    except OSError as fault:
        raise error(
            Code.E_CONFIG,
            f"The completion cannot be written: {fault}.",
            next_step="Use --print, and place it yourself.",
        ) from None
    tell(f"Written to {target}. Open a new shell: `{_PROGRAM} ` and Tab complete commands and options.")


def _script(shell: str) -> str:
    from fairlead.cli.main import main  # main imports this module by name

    completion = get_completion_class(shell)
    assert completion is not None, "click knows bash, zsh and fish"
    return completion(main, {}, _PROGRAM, "_FAIRLEAD_COMPLETE").source()


def _install(files: ShellFiles, script: str) -> Path:
    target = Path.home() / files.script
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(script)
    if files.rc_file:
        _add_line(Path.home() / files.rc_file, files.rc_line)
    return target


def _add_line(rc_file: Path, line: str) -> None:
    before = (read_if_there(rc_file) or b"").decode()
    if line not in before.splitlines():
        ending = "" if not before or before.endswith("\n") else "\n"
        replace_durably(rc_file.resolve(), f"{before}{ending}{line}\n".encode())  # a link stays a link
