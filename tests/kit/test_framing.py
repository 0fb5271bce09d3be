"""Bytes become lines, however they are cut on the way."""

import asyncio
import time
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kit.framing import LineFramer, LineTooLong, read_lines

BYTES = st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\xff", b"long piece"]), max_size=60).map(b"".join)


def take_all(framer: LineFramer) -> list[bytes | str]:
    taken: list[bytes | str] = []
    while True:
        try:
            line = framer.next_line()
        except LineTooLong as fault:
            taken.append("too long" if fault.seen > fault.limit else "refused without need")
            continue
        if line is None:
            return taken
        taken.append(line)


def expected(data: bytes, limit: int) -> tuple[list[bytes | str], bytes | None]:
    *lines, rest = data.split(b"\n")
    taken: list[bytes | str] = [line if len(line) <= limit else "too long" for line in lines]
    if len(rest) > limit:
        return [*taken, "too long"], None
    return taken, rest or None


@given(data=BYTES, cuts=st.lists(st.integers(0, 300)), limit=st.integers(0, 40))
def test_any_chunking_gives_the_same_lines_and_the_same_faults(data: bytes, cuts: list[int], limit: int):
    framer = LineFramer(limit)
    taken: list[bytes | str] = []
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        framer.feed(data[start:end])
        taken += take_all(framer)
    assert (taken, framer.close()) == expected(data, limit)


def test_a_line_of_25_mb_costs_linear_time_and_about_twice_its_size():
    size, chunk = 25_000_000, b"x" * 1000
    framer = LineFramer()
    tracemalloc.start()
    began = time.process_time()
    for _ in range(size // len(chunk)):
        framer.feed(chunk)
    framer.feed(b"\n")
    line = framer.next_line()
    took = time.process_time() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert line is not None
    assert len(line) == size
    assert peak < 2.3 * size
    assert took < 5, "copying the partial line for each chunk would take minutes"


def test_a_line_without_end_is_refused_at_the_limit_and_its_memory_given_back():
    framer = LineFramer(limit=1_000_000)
    framer.feed(b"x" * 1_000_001)
    with pytest.raises(LineTooLong) as caught:
        framer.next_line()
    tracemalloc.start()
    for _ in range(100):
        framer.feed(b"x" * 100_000)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    framer.feed(b"\nnext\n")
    assert (caught.value.limit, caught.value.seen) == (1_000_000, 1_000_001)
    assert held < 200_000
    assert take_all(framer) == [b"next"]


def stream_of(*chunks: bytes) -> asyncio.StreamReader:
    stream = asyncio.StreamReader(limit=10)
    for chunk in chunks:
        stream.feed_data(chunk)
    stream.feed_eof()
    return stream


def test_a_stream_gives_lines_far_past_its_own_limit_and_the_unterminated_rest():
    async def read() -> list[bytes]:
        return [line async for line in read_lines(LineFramer(), stream_of(b"a" * 200_000, b"\n\nb\nrest"))]

    assert asyncio.run(read()) == [b"a" * 200_000, b"", b"b", b"rest"]


def test_a_too_long_line_ends_the_reading_or_is_reported_and_left_out():
    async def read_until_fault() -> list[bytes]:
        source = read_lines(LineFramer(3), stream_of(b"one\ntoo long\ntwo\n"))
        lines = [await anext(source)]
        with pytest.raises(LineTooLong):
            await anext(source)
        return lines

    async def read_on() -> tuple[list[bytes], list[int]]:
        faults: list[LineTooLong] = []
        source = read_lines(LineFramer(3), stream_of(b"one\ntoo long\ntwo\n"), on_too_long=faults.append)
        return [line async for line in source], [fault.seen for fault in faults]

    assert asyncio.run(read_until_fault()) == [b"one"]
    assert asyncio.run(read_on()) == ([b"one", b"two"], [8])
