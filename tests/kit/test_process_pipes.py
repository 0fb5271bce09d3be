"""What children say and hear over their pipes."""

import asyncio
import os
import signal

import pytest

from fairlead.kit.framing import LineTooLong
from fairlead.kit.processes import (
    AT_ONCE,
    StdinClosed,
    StdinStuck,
)
from tests.kit.harness import child, run
from tests.kit.living_processes import living_with


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
