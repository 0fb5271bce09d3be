"""The decoders of journal lines are made once, whoever needs them first."""

import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from fairlead.store import lines


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads give way to each other after every microsecond."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.req("A15")
@pytest.mark.parametrize("make", [lines.line_decoder, lines.replay_decoder])
def test_threads_that_need_a_decoder_at_once_wait_for_the_one_that_makes_it(
    make: Callable[[], object], hasty_threads: None
):
    """Two that were made at once shared structs that were half filled in, and the process crashed."""
    lines._make_line_decoder.cache_clear()
    lines._make_replay_decoder.cache_clear()
    begin, made = threading.Barrier(4), list[object]()

    def ask() -> None:
        begin.wait()
        made.append(make())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, made))) == 1
