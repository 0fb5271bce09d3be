"""Real children: what they start, how they end, and that nothing of them is left."""

import asyncio
import signal
from pathlib import Path

import pytest

from fairlead.kit.processes import (
    AT_ONCE,
    DirectoryGone,
    Ending,
    Grace,
    OwnedProcess,
    ProgramNotExecutable,
    ProgramNotFound,
)
from tests.kit.harness import BRIEF, PATIENT, child, run, two_pids
from tests.kit.living_processes import is_alive, living_with


def test_a_stubborn_child_and_its_orphan_in_another_session_are_both_gone(mark: str):
    async def story() -> tuple[list[int], Ending]:
        async with child(mark, "stubborn") as process:
            pids = await two_pids(process)
            return pids, await process.end(BRIEF)

    pids, ending = run(story())
    assert living_with(mark) == []
    assert not any(is_alive(pid) for pid in pids)
    assert ending.returncode == -signal.SIGKILL
    assert sorted(swept.pid for swept in ending.killed) == sorted(pids)
    assert {(swept.mark, swept.survived) for swept in ending.killed} == {(mark, False)}
    assert all("children.py stubborn" in swept.command for swept in ending.killed)


def test_a_child_without_the_mark_is_found_through_the_tree(mark: str):
    async def story() -> tuple[int, Ending]:
        async with child(mark, "unmarked_child") as process:
            pid = int((await anext(process.lines())).split()[1])
            assert pid not in living_with(mark)
            return pid, await process.end(AT_ONCE)

    pid, ending = run(story())
    assert not is_alive(pid)
    assert pid in {swept.pid for swept in ending.killed}


def test_an_orphan_left_by_a_child_that_ended_by_itself_is_killed_when_the_block_is_left(mark: str):
    async def story() -> tuple[list[bytes], int, int]:
        async with child(mark, "leaving_a_daemon") as process:
            code = await process.wait()
            lines = [line async for line in process.lines()]
            return lines, code, len(living_with(mark))

    lines, code, living = run(story())
    assert [line.split()[0] for line in lines] == [b"daemon", b"bye"]
    assert (code, living) == (3, 1)
    assert living_with(mark) == []


@pytest.mark.parametrize("cancellations", [1, 3])
def test_an_owner_cancelled_in_the_middle_of_the_end_leaves_nothing(mark: str, cancellations: int):
    async def own(interrupted: asyncio.Event) -> None:
        async with child(mark, "stubborn") as process:
            await two_pids(process)

            async def listen() -> None:
                async for line in process.lines():
                    if line == b"interrupted":
                        interrupted.set()

            listening = asyncio.create_task(listen())
            try:
                await process.end(BRIEF)
            finally:
                await listening

    async def story() -> None:
        interrupted = asyncio.Event()
        owner = asyncio.create_task(own(interrupted))
        await interrupted.wait()
        for _ in range(cancellations):
            owner.cancel()
            await asyncio.wait({owner}, timeout=0)
        with pytest.raises(asyncio.CancelledError):
            await owner
        assert living_with(mark) == []

    run(story())


def test_an_owner_cancelled_during_the_start_leaves_nothing(mark: str):
    async def own() -> None:
        async with child(mark, "stubborn", grace=AT_ONCE):
            pytest.fail("the cancellation was lost")

    async def story() -> None:
        owner = asyncio.create_task(own())
        await asyncio.wait({owner}, timeout=0)
        owner.cancel()
        with pytest.raises(asyncio.CancelledError):
            await owner
        assert living_with(mark) == []

    run(story())


def test_a_second_call_that_cannot_wait_cuts_a_patient_end_short(mark: str):
    async def story() -> tuple[Ending, Ending]:
        async with child(mark, "stubborn") as process:
            await two_pids(process)
            lines = process.lines()
            patient = asyncio.create_task(process.end(PATIENT))
            while await anext(lines) != b"interrupted":
                pass
            return await process.end(AT_ONCE), await patient

    first, second = run(story())
    assert first == second
    assert living_with(mark) == []


def test_a_child_that_goes_when_asked_is_not_killed_even_if_nobody_reads_its_last_words(mark: str):
    taken = bytearray()
    ready = asyncio.Event()

    async def story() -> Ending:
        options = {"tee": lambda _, data: taken.extend(data), "on_stderr_line": lambda _: ready.set()}
        async with child(mark, "chatty_at_the_end", **options) as process:
            await ready.wait()
            return await process.end(Grace(terminate=50))

    assert run(story()) == Ending(returncode=7, killed=())
    assert taken.count(b"x") == (9 + 64) * 65536


def test_a_child_has_its_mark_its_directory_and_its_own_session(mark: str, tmp_path: Path):
    async def story() -> list[bytes]:
        async with child(mark, "environment", cwd=tmp_path) as process:
            return [line async for line in process.lines()]

    assert run(story()) == [f"{mark} {tmp_path} True".encode()]


def start_error(argv: list[str], cwd: Path, path: str) -> Exception:
    async def story() -> None:
        async with OwnedProcess.spawn(argv, cwd=cwd, env={"PATH": path}, mark="m"):
            pass

    with pytest.raises((ProgramNotFound, ProgramNotExecutable, DirectoryGone)) as caught:
        run(story())
    return caught.value


def test_a_program_that_cannot_be_started_is_named_with_its_reason(tmp_path: Path):
    for name, text, mode in (
        ("plain", "", 0o644),
        ("orphan", "#!/no/such\n", 0o755),
        ("noise", "\0\1", 0o755),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    here = str(tmp_path)
    told = [
        str(start_error(["missing"], tmp_path, here)),
        str(start_error(["missing"], tmp_path, "")),
        str(start_error(["./missing"], tmp_path, here)),
        str(start_error(["plain"], tmp_path, here)),
        str(start_error(["./plain"], tmp_path, here)),
        str(start_error(["orphan"], tmp_path, here)),
        str(start_error(["noise"], tmp_path, here)),
        str(start_error(["noise"], tmp_path / "gone", here)),
    ]
    assert told == [
        f"missing was not found; searched: {here}",
        "missing was not found; searched: nothing, PATH is empty",
        f"./missing was not found; searched: {here}",
        f"{here}/plain cannot be executed: it is not an executable file",
        f"{here}/plain cannot be executed: it is not an executable file",
        f"{here}/orphan cannot be executed: the interpreter named in its first line was not found",
        f"{here}/noise cannot be executed: Exec format error",
        f"{here}/gone is not an accessible directory, so nothing was started",
    ]
