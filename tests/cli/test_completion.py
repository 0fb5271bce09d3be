"""Completion is installed by one command, where the shell looks for it."""

import subprocess
import sys
from pathlib import Path

from tests.cli.harness import PATIENCE, run, surroundings


def test_it_is_written_for_the_shell_in_use(tmp_path: Path):
    done = run(tmp_path, "completion", SHELL="/usr/bin/bash")
    script = tmp_path / ".local/share/bash-completion/completions/fairlead"
    assert (done.returncode, done.stderr) == (0, "")
    assert str(script) in done.stdout
    assert "_FAIRLEAD_COMPLETE=bash_complete" in script.read_text()


def test_zsh_is_told_once_where_it_is(tmp_path: Path):
    (tmp_path / ".zshrc").write_text("mine")
    for _ in range(2):
        assert run(tmp_path, "completion", "zsh").returncode == 0
    line = "source ~/.local/share/fairlead/completion.zsh  # fairlead"
    assert (tmp_path / ".zshrc").read_text() == f"mine\n{line}\n"


def test_it_can_be_printed_and_an_unknown_shell_is_named(tmp_path: Path):
    assert "fish_complete" in run(tmp_path, "completion", "fish", "--print").stdout
    assert list(tmp_path.iterdir()) == []
    refused = run(tmp_path, "completion", SHELL="/bin/tcsh")
    assert refused.returncode == 78
    assert "no completion for the shell 'tcsh'" in refused.stderr


def test_the_shell_completes_the_commands(tmp_path: Path):
    asked = {"_FAIRLEAD_COMPLETE": "bash_complete", "COMP_WORDS": "fairlead ch", "COMP_CWORD": "1"}
    program = Path(sys.executable).parent / "fairlead"  # the variable is named after the program
    done = subprocess.run(
        [program], env=surroundings(tmp_path, **asked), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.stdout == "plain,chat\n"
