"""A pool of long-lived processes, whatever agent they are: who is reused, who makes room, who ends when."""

import asyncio
from collections.abc import Callable

from fairlead.runtimes.pool import OnRest, PoolShare, ProcessPool
from fairlead.testing.clock import run_virtually

IDLE_SEC = 60.0


class FakeProcess:
    def __init__(self, name: str, on_rest: OnRest) -> None:
        self.name = name
        self.is_dead = False
        self.is_in_turn = True
        self.has_background_work = False
        self._on_rest = on_rest

    @property
    def is_idle(self) -> bool:
        return not (self.is_dead or self.is_in_turn or self.has_background_work)

    def rest(self) -> None:
        self.is_in_turn = False
        self._on_rest()

    async def end(self) -> None:
        await asyncio.sleep(1)
        self.is_dead = True
        self._on_rest()


class Pool(PoolShare[FakeProcess]):
    def __init__(self, *, most: int, idle_sec: float, shared: ProcessPool | None = None) -> None:
        self.shared = ProcessPool(most=most, idle_sec=idle_sec) if shared is None else shared
        super().__init__(self.shared)

    def __len__(self) -> int:
        return len(self.shared)

    async def serve(
        self, session: str, *, fits: Callable[[FakeProcess], bool] = lambda _: True, rests: bool = True
    ) -> FakeProcess | None:
        process = await self.take(session, fits=fits, start=lambda on_rest: FakeProcess(session, on_rest))
        if process is not None and rests:
            process.rest()
        return process


def test_a_session_gets_its_own_process_again_unless_it_no_longer_fits():
    async def story() -> None:
        pool = Pool(most=2, idle_sec=IDLE_SEC)
        first = await pool.serve("a")
        assert await pool.serve("a") is first
        other = await pool.serve("a", fits=lambda _: False)
        assert other is not first
        assert first is not None
        assert first.is_dead
        assert pool.get("a") is other
        assert len(pool) == 1

    run_virtually(story())


def test_the_longest_unused_idle_process_makes_room_and_a_busy_one_never_does():
    async def story() -> None:
        pool = Pool(most=2, idle_sec=IDLE_SEC)
        busy = await pool.serve("busy", rests=False)
        idle = await pool.serve("idle")
        assert await pool.serve("new", rests=False) is not None
        assert idle is not None
        assert idle.is_dead
        assert await pool.serve("too many") is None
        assert pool.get("busy") is busy

    run_virtually(story())


def test_sessions_that_need_room_at_the_same_time_do_not_wait_for_each_other():
    async def story() -> None:
        pool = Pool(most=3, idle_sec=IDLE_SEC)
        for session in ("a", "b", "c"):
            await pool.serve(session)
        began = asyncio.get_running_loop().time()
        taken = await asyncio.gather(*(pool.serve(session, rests=False) for session in ("d", "e", "f", "g")))
        assert asyncio.get_running_loop().time() - began == 1, "three processes end at once, not one after another"
        assert [process is not None for process in taken] == [True, True, True, False], "there is room for three"
        assert len(pool) == 3

    run_virtually(story())


def test_a_session_whose_process_makes_room_waits_for_its_end_before_it_gets_another():
    async def story() -> None:
        pool = Pool(most=2, idle_sec=IDLE_SEC)
        old = await pool.serve("a")
        await pool.serve("b", rests=False)
        assert old is not None

        async def come_back() -> None:
            await asyncio.sleep(0.5)
            assert not old.is_dead
            await pool.serve("a")
            assert old.is_dead, "two processes of one session would write the same files"

        await asyncio.gather(pool.serve("c"), come_back())

    run_virtually(story())


def test_an_idle_process_ends_when_its_time_is_up_and_background_work_gives_it_more():
    async def story() -> None:
        pool = Pool(most=2, idle_sec=IDLE_SEC)
        process = await pool.serve("a")
        assert process is not None
        process.has_background_work = True
        await asyncio.sleep(IDLE_SEC + 5)
        assert pool.get("a") is process
        process.has_background_work = False
        await asyncio.sleep(IDLE_SEC + 5)
        assert process.is_dead
        assert pool.get("a") is None

    run_virtually(story())


def test_a_session_never_gets_a_process_that_is_being_ended():
    """A message that comes when the idle time is just over waits for the end of the old process, and gets a new one:
    two processes of one session would write the same files."""

    async def story() -> None:
        pool = Pool(most=2, idle_sec=IDLE_SEC)
        first = await pool.serve("a")
        assert first is not None
        await asyncio.sleep(IDLE_SEC + 0.5)
        assert not first.is_dead, "it takes a second to end"
        second = await pool.serve("a")
        assert second is not first
        assert first.is_dead
        assert pool.get("a") is second

    run_virtually(story())


def test_a_session_that_has_a_process_does_not_wait_until_that_of_another_session_has_ended():
    async def story() -> None:
        pool = Pool(most=2, idle_sec=IDLE_SEC)
        await pool.serve("idle")
        warm = await pool.serve("warm")
        clock = asyncio.get_running_loop().time
        begun_at = clock()
        async with asyncio.TaskGroup() as group:
            starting = group.create_task(pool.serve("new"))
            await asyncio.sleep(0)
            assert await pool.serve("warm") is warm
            assert clock() == begun_at
        assert starting.result() is not None
        assert clock() == begun_at + 1

    run_virtually(story())


def test_closing_the_pool_returns_when_every_process_has_ended():
    async def story() -> None:
        pool = Pool(most=3, idle_sec=IDLE_SEC)
        processes = [await pool.serve("a"), await pool.serve("b", rests=False)]
        await pool.aclose()
        assert [process.is_dead for process in processes if process is not None] == [True, True]

    run_virtually(story())


def test_one_limit_holds_for_all_runtimes_and_each_ends_only_its_own():
    async def story() -> None:
        claude = Pool(most=2, idle_sec=IDLE_SEC)
        codex = Pool(most=2, idle_sec=IDLE_SEC, shared=claude.shared)
        first, second = await claude.serve("a"), await codex.serve("a")
        assert first is not second
        assert await codex.serve("b") is not None
        assert first is not None
        assert first.is_dead, "the longest unused one made room, whichever agent it is"
        assert await claude.serve("c") is not None
        await codex.aclose()
        assert codex.get("b") is None
        assert claude.get("c") is not None

    run_virtually(story())


def test_a_process_that_is_renamed_is_found_under_its_new_key_and_ends_when_idle():
    async def story() -> None:
        pool = Pool(most=2, idle_sec=IDLE_SEC)
        process = await pool.serve("ticket", rests=False)
        assert process is not None
        pool.rename("ticket", "a")
        process.rest()
        assert (pool.get("ticket"), pool.get("a")) == (None, process)
        await asyncio.sleep(IDLE_SEC + 2)
        assert process.is_dead
        assert pool.get("a") is None

    run_virtually(story())


def test_more_processes_stay_while_there_is_room_and_no_longer():
    async def story() -> None:
        room = True
        shared = ProcessPool(most=1, idle_sec=IDLE_SEC, has_room_to_keep=lambda agents: room and agents <= 2)
        pool = Pool(most=1, idle_sec=IDLE_SEC, shared=shared)
        first, second = await pool.serve("a"), await pool.serve("b")
        assert [await pool.serve("a"), await pool.serve("b")] == [first, second]
        await pool.serve("c")  # a third one is too many: the one that was not needed for longest makes room
        assert [name for name in "abc" if pool.get(name) is not None] == ["b", "c"]
        room = False
        await pool.serve("a")
        assert [name for name in "abc" if pool.get(name) is not None] == ["a"]

    run_virtually(story())
