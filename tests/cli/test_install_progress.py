"""What a person sees while an agent is installed, on a terminal and in a file."""

import asyncio
import io

import pytest

from fairlead.cli.install_progress import InstallProgress
from fairlead.testing.clock import run_virtually

pytestmark = pytest.mark.req("B4")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


async def install(progress: InstallProgress) -> None:
    progress.begin_step("outside of an installation nothing is shown")
    async with progress:
        progress.begin_step("npm looks for it")
        await asyncio.sleep(0.4)
        progress.begin_step("npm installs it")
        await asyncio.sleep(2.5)
        progress.note_size(10 << 20)
        await asyncio.sleep(1.0)
        progress.note_size(60 << 20)


def test_on_a_terminal_each_step_counts_its_seconds_on_one_line():
    terminal = Terminal()
    run_virtually(install(InstallProgress(terminal)))
    assert terminal.getvalue().replace("\r\x1b[K", "|") == (
        "|  npm looks for it … 0 s"
        "|  npm looks for it … 0 s\n"
        "|  npm installs it … 0 s"
        "|  npm installs it … 1 s"
        "|  npm installs it … 2 s"
        "|  npm installs it … 10 MiB, 3 s"
        "|  npm installs it … 60 MiB, 4 s\n"
    )


def test_a_file_gets_one_line_for_each_step_however_long_it_takes():
    file = io.StringIO()
    run_virtually(install(InstallProgress(file)))
    assert file.getvalue() == "  npm looks for it …\n  npm installs it …\n  60 MiB …\n"


def test_a_line_is_never_wider_than_the_terminal_and_obeys_nobody(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "40")

    async def story(progress: InstallProgress) -> None:
        async with progress:
            progress.begin_step("npm installs \x1b]0;evil\x07 " + "x" * 100)
            await asyncio.sleep(1.5)

    terminal = Terminal()
    run_virtually(story(InstallProgress(terminal)))
    drawn = terminal.getvalue().split("\r\x1b[K")[1:-1]
    assert [len(line) for line in drawn] == [39, 39]
    assert "\x07" not in terminal.getvalue()


def test_a_failure_leaves_the_line_behind_and_no_task():
    async def story(progress: InstallProgress) -> None:
        async with progress:
            progress.begin_step("npm installs it")
            await asyncio.sleep(1.2)
            raise RuntimeError

    terminal = Terminal()
    with pytest.raises(RuntimeError):
        run_virtually(story(InstallProgress(terminal)))
    assert terminal.getvalue().endswith("  npm installs it … 1 s\n")
