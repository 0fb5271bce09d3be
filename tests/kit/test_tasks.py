"""Nothing runs unowned, clean-up is finished, and a clock can stand still."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairlead.kit.tasks import OwnedTasks, PausableTimeout, TaskOwner, result_without_waiting, run_to_end


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time jumps to the next due call whenever nothing else is left to do."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        due = [call.when() for call in self._scheduled if not call.cancelled()]
        if due and not self._ready:
            self.now = max(self.now, min(due))
        super()._run_once()


def run(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


def now() -> float:
    return asyncio.get_running_loop().time()


@asynccontextmanager
async def expiring(seconds: float | None) -> AsyncIterator[PausableTimeout]:
    timer = PausableTimeout(seconds)
    with pytest.raises(TimeoutError):
        async with timer:
            yield timer


async def for_ever(ended: list[str], name: str = "worker") -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(1)
        ended.append(name)


async def crash() -> None:
    raise ZeroDivisionError("the worker's own")


def test_a_crash_ends_the_owner_with_that_very_exception_after_the_others_have_ended():
    ended: list[str] = []

    async def own() -> None:
        async with TaskOwner("owner") as owner:
            owner.start(for_ever(ended), name="worker")
            await asyncio.sleep(1)
            owner.start(crash(), name="crasher")

    with pytest.raises(ZeroDivisionError, match="the worker's own"):
        run(own())
    assert ended == ["worker"]


def test_two_crashes_at_once_are_both_told():
    async def own() -> None:
        async with TaskOwner("owner") as owner:
            owner.start(crash(), name="first")
            owner.start(crash(), name="second")

    with pytest.raises(ExceptionGroup) as caught:
        run(own())
    assert [type(error) for error in caught.value.exceptions] == [ZeroDivisionError, ZeroDivisionError]


def test_with_on_crash_it_is_reported_by_name_and_the_others_go_on():
    crashes: list[tuple[str, str]] = []

    async def own() -> str | None:
        async with TaskOwner("owner", on_crash=lambda n, e: crashes.append((n, str(e)))) as owner:
            owner.start(crash(), name="crasher")
            return await owner.start(asyncio.sleep(5, "done"), name="worker")

    assert run(own()) == "done"
    assert crashes == [("owner/crasher", "the worker's own")]


def test_cancelling_the_owner_cancels_and_awaits_all():
    ended: list[str] = []

    async def own() -> None:
        async with TaskOwner("owner") as owner:
            owner.start(for_ever(ended, "one"), name="one")
            owner.start(for_ever(ended, "two"), name="two")

    async def cancel() -> None:
        task = asyncio.create_task(own())
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sorted(ended) == ["one", "two"]

    run(cancel())


def test_the_owner_can_ask_all_its_tasks_to_end_and_then_leave_quietly():
    ended: list[str] = []

    async def own() -> None:
        async with TaskOwner("owner") as owner:
            owner.start(for_ever(ended), name="worker")
            await asyncio.sleep(1)
            owner.start(for_ever(ended), name="not even begun")
            owner.cancel()

    run(own())
    assert ended == ["worker"]


def test_an_object_joins_its_tasks_also_those_that_one_of_them_starts():
    done: list[str] = []

    async def story() -> None:
        tasks = OwnedTasks("object")

        async def work(name: str, *following: str) -> None:
            await asyncio.sleep(1)
            done.append(name)
            for other in following:
                tasks.start(work(other), name=other)

        tasks.start(work("first", "second"), name="first")
        await tasks.join()
        assert done == ["first", "second"]
        assert now() == 2

    run(story())


def test_a_task_that_joins_its_own_owner_does_not_wait_for_itself():
    async def story() -> None:
        tasks = OwnedTasks("object")
        tasks.start(asyncio.sleep(3), name="other")
        await tasks.start(tasks.join(), name="the one that ends all")
        assert now() == 3

    run(story())


def test_a_block_of_tasks_cancels_and_awaits_what_is_left_however_often_it_is_cancelled():
    ended: list[str] = []

    async def own() -> None:
        async with OwnedTasks("block") as tasks:
            tasks.start(for_ever(ended), name="worker")
            await asyncio.sleep(1)

    async def story() -> None:
        owning = asyncio.create_task(own())
        await asyncio.sleep(1.5)
        owning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await owning
        assert ended == ["worker"]

    run(story())


def test_a_fault_stays_with_its_task():
    async def story() -> None:
        tasks = OwnedTasks("object")
        task = tasks.start(crash(), name="crasher")
        await tasks.join()
        with pytest.raises(ZeroDivisionError):
            await task
        assert task.get_name() == "object/crasher"

    run(story())


def test_a_start_after_the_end_is_refused():
    async def own() -> None:
        async with TaskOwner("owner") as owner:
            pass
        with pytest.raises(RuntimeError):
            owner.start(crash(), name="late")

    run(own())


def test_shielded_work_is_finished_however_often_the_caller_is_cancelled():
    finished: list[float] = []

    async def clean_up() -> None:
        await asyncio.sleep(10)
        finished.append(now())

    async def cancel_twice() -> None:
        task = asyncio.create_task(run_to_end(clean_up()))
        for _ in range(2):
            await asyncio.sleep(1)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert finished == [10]

    run(cancel_twice())


def test_shielded_gives_the_result_or_the_fault_and_ties_the_fault_to_a_cancellation():
    async def fail_late() -> None:
        await asyncio.sleep(5)
        await crash()

    async def story() -> None:
        assert await run_to_end(asyncio.sleep(1, "result")) == "result"
        with pytest.raises(ZeroDivisionError):
            await run_to_end(crash())
        task = asyncio.create_task(run_to_end(fail_late()))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        chain = caught.value
        while isinstance(chain, asyncio.CancelledError):
            chain = chain.__cause__ or chain.__context__
        assert isinstance(chain, ZeroDivisionError)

    run(story())


def test_the_time_a_clock_stands_still_does_not_count():
    async def story() -> None:
        async with expiring(30) as timer:
            await asyncio.sleep(10)
            with timer.pause():
                await asyncio.sleep(1000)
                assert timer.remaining() == 20
                with timer.pause():
                    await asyncio.sleep(1000)
                await asyncio.sleep(1000)
            assert timer.remaining() == 20
            await asyncio.Event().wait()
        assert now() == 3030
        assert timer.is_expired

    run(story())


def test_a_timer_may_be_paused_before_its_block_and_touched_after_it():
    async def story() -> None:
        timer = PausableTimeout(5)
        with timer.pause():
            async with timer:
                await asyncio.sleep(100)
        with timer.pause():
            pass
        async with PausableTimeout(None) as endless:
            assert endless.remaining() is None
            await asyncio.sleep(10**6)

    run(story())


def test_a_timer_whose_time_is_up_at_once_stays_so_also_when_it_is_paused():
    async def story() -> None:
        for seconds in (30, None):
            begun = now()
            async with expiring(seconds) as timer:
                await asyncio.sleep(5)
                with timer.pause():
                    timer.expire()
                await asyncio.Event().wait()
            assert now() == begun + 5
            late = PausableTimeout(seconds)
            late.expire()
            with pytest.raises(TimeoutError):
                async with late:
                    await asyncio.Event().wait()
            assert now() == begun + 5

    run(story())


def test_pausing_when_the_time_is_already_up_changes_nothing():
    async def story() -> None:
        async with expiring(1) as timer:
            try:
                await asyncio.Event().wait()
            finally:
                with timer.pause():
                    await asyncio.sleep(1)

    run(story())


def test_work_that_need_not_wait_gives_its_result_in_the_same_step():
    async def add(one: int, two: int) -> int:
        return one + two

    async def work() -> int:
        return await add(1, 2)

    async def run_it() -> int | None:
        return result_without_waiting(work())

    assert run(run_it()) == 3


def test_work_that_would_wait_is_closed_and_gives_nothing():
    closed: list[bool] = []

    async def work() -> int:
        try:
            await asyncio.sleep(1)
        finally:
            closed.append(True)
        return 1

    async def run_it() -> int | None:
        return result_without_waiting(work())

    assert run(run_it()) is None
    assert closed == [True]
