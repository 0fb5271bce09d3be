"""Where each shell looks for completions. Paths are relative to the home directory."""

from typing import Final, NamedTuple


class ShellFiles(NamedTuple):
    """`rc_line` is added to `rc_file` where the shell does not find `script` by itself."""

    script: str
    rc_file: str = ""
    rc_line: str = ""


SHELLS: Final = {
    "bash": ShellFiles(".local/share/bash-completion/completions/fairlead"),
    "zsh": ShellFiles(
        ".local/share/fairlead/completion.zsh", ".zshrc", "source ~/.local/share/fairlead/completion.zsh  # fairlead"
    ),
    "fish": ShellFiles(".config/fish/completions/fairlead.fish"),
}
