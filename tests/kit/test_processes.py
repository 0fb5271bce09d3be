"""Real children: what they start, how they end, and that nothing of them is left."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from fairlead.kit.framing import LineTooLong
from fairlead.kit.processes import (
    AT_ONCE,
    DirectoryGone,
    Ending,
    Grace,
    OwnedProcess,
    ProgramNotExecutable,
    ProgramNotFound,
    StdinClosed,
    StdinStuck,
    sweep,
)
from tests.kit.living_processes import is_alive, living_with

CHILDREN = str(Path(__file__).with_name("children.py"))
BRIEF = Grace(interrupt=0.1, terminate=0.1)
PATIENT = Grace(interrupt=600, terminate=600)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(60):  # a hanging story fails instead of hanging the run
            return await work

    return asyncio.run(bounded())


def child(mark: str, *story: str, **options: Any) -> AbstractAsyncContextManager[OwnedProcess]:
    options = {"cwd": Path(__file__).parent, "env": dict(os.environ), "grace": BRIEF, **options}
    return OwnedProcess.spawn([sys.executable, CHILDREN, *story], mark=mark, **options)


async def two_pids(process: OwnedProcess) -> list[int]:
    """Of the stubborn child and of its orphan, once both have said that they are there."""
    lines = process.lines()
    return [int((await anext(lines)).split()[1]) for _ in range(2)]


# --- how they end


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


def test_what_forks_and_exits_all_the_time_is_caught(mark: str, tmp_path: Path):
    async def story() -> None:
        async with child(mark, "comet", "5000", str(tmp_path / "last words")) as process:
            await anext(process.lines())
            await process.end(AT_ONCE)

    run(story())
    assert living_with(mark) == []
    assert not list(tmp_path.iterdir())


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


def test_after_kill_9_of_the_owner_the_next_start_sweeps_what_it_left(mark: str):
    prefix = mark.partition(":")[0]
    argv = [sys.executable, CHILDREN, "daemon", mark]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pids = sorted(int(owner.stdout.readline().split()[1]) for _ in range(2))
        owner.kill()
    assert sorted(living_with(mark)) == pids
    swept = sweep(prefix)
    assert sorted(process.pid for process in swept) == pids
    assert {process.mark for process in swept} == {mark}
    assert living_with(prefix) == []
    assert sweep(prefix) == []


def test_a_sweep_spares_itself_and_other_marks(mark: str):
    async def story() -> None:
        async with child(f"other-{mark}", "deaf") as bystander:
            await anext(bystander.lines())
            async with child(mark, "sweeper", mark.partition(":")[0]) as sweeper:
                assert [line async for line in sweeper.lines()] == [b"[]", b"still here"]
            assert bystander.returncode is None

    run(story())


def test_a_sweep_of_everybody_is_refused():
    with pytest.raises(ValueError, match="not empty"):
        sweep("")


# --- how they start


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
        f"{here}/plain cannot be executed: it is no executable file",
        f"{here}/plain cannot be executed: it is no executable file",
        f"{here}/orphan cannot be executed: the interpreter named in its first line was not found",
        f"{here}/noise cannot be executed: Exec format error",
        f"{here}/gone is no directory that can be entered, so nothing was started there",
    ]


# --- what they say and hear


def test_a_line_of_25_mb_comes_through_whole(mark: str):
    async def story() -> list[int]:
        async with child(mark, "long_line", "25000000") as process:
            return [len(line) async for line in process.lines()]

    assert run(story()) == [25_000_000, len("after")]


def test_a_reader_that_leaves_early_loses_nothing_for_the_next(mark: str):
    async def story() -> list[bytes]:
        async with child(mark, "long_line", "3") as process:
            return [await anext(process.lines()) for _ in range(2)]

    assert run(story()) == [b"xxx", b"after"]


def test_a_line_past_the_limit_fails_its_reader_and_the_child_is_still_ended(mark: str):
    async def story() -> None:
        async with child(mark, "long_line", "25000000", line_limit=1000) as process:
            with pytest.raises(LineTooLong):
                await anext(process.lines())

    run(story())
    assert living_with(mark) == []


def test_both_outputs_are_copied_raw_and_framed(mark: str):
    copied: dict[str, bytes] = {"stdout": b"", "stderr": b""}
    warnings: list[bytes] = []

    def tee(name: str, data: bytes) -> None:
        copied[name] += data

    async def story() -> tuple[list[bytes], bytes]:
        async with child(mark, "both_outputs", tee=tee, on_stderr_line=warnings.append) as process:
            lines = [line async for line in process.lines()]
            await process.end(AT_ONCE)
            return lines, process.stderr_tail

    assert run(story()) == ([b"answer"], b"warning \xff\nno end")
    assert copied == {"stdout": b"answer\n", "stderr": b"warning \xff\nno end"}
    assert warnings == [b"warning \xff", b"no end"]


def test_a_tee_that_fails_costs_the_copy_and_not_the_answer(mark: str):
    tried: list[str] = []

    def tee(name: str, data: bytes) -> None:
        tried.append(name)
        raise OSError(28, "no space left")

    async def story() -> list[bytes]:
        async with child(mark, "both_outputs", tee=tee) as process:
            return [line async for line in process.lines()]

    assert run(story()) == [b"answer"]
    assert len(tried) == 1


def test_what_is_written_is_read_and_the_end_of_input_too(mark: str):
    prompt = b"x" * 3_000_000 + b"\n"

    async def story() -> tuple[list[int], int]:
        async with child(mark, "echo") as process:
            writing = asyncio.create_task(process.write(prompt))
            line = await anext(process.lines())
            await writing
            await process.write(b"again")
            process.close_stdin()
            return [len(line)], await process.wait()

    assert run(story()) == ([3_000_000], 0)


def test_a_child_that_never_reads_neither_blocks_for_ever_nor_fills_the_memory(mark: str):
    message = b"x" * 1_000_000

    async def story() -> int:
        async with child(mark, "deaf") as process:
            await anext(process.lines())
            for _ in range(5):
                with pytest.raises(StdinStuck):
                    await process.write(message, patience=0.02)
            waiting = asyncio.create_task(process.write(message))
            await asyncio.wait({waiting}, timeout=0)
            waiting.cancel()
            pipe = process._pipes._transport.get_pipe_transport(0)
            return pipe.get_write_buffer_size()

    assert run(story()) <= len(message)


def test_writing_to_a_child_that_is_gone_says_so_at_once(mark: str):
    async def story() -> None:
        async with child(mark, "both_outputs") as process:
            await process.wait()
            with pytest.raises(StdinClosed):
                await process.write(b"too late")
        async with child(mark, "deaf") as process:
            await anext(process.lines())
            waiting = asyncio.create_task(process.write(b"x" * 1_000_000))
            await asyncio.wait({waiting}, timeout=0)
            os.kill(process.pid, signal.SIGKILL)
            with pytest.raises(StdinClosed):
                await waiting
            assert await process.wait() == -signal.SIGKILL

    run(story())


def test_a_child_may_start_with_an_empty_input(mark: str):
    async def story() -> int:
        async with child(mark, "echo", stdin="empty") as process:
            return await process.wait()

    assert run(story()) == 0
