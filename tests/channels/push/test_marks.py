"""Marks on messages, in virtual time: the newest wanted mark wins, one call at a time for each message."""

import asyncio

from fairlead.channels.push.marks import DONE, FAILED, QUEUED, TAKEN, WantedMarks
from fairlead.errors import Code
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import DeliveryImpossible
from fairlead.testing.clock import run_virtually


class Reactions:
    """Takes a second for each mark, and never lets one stand on the messages in `gone`."""

    def __init__(self, *gone: str) -> None:
        self.set: list[tuple[str, str]] = []
        self.cleared: list[tuple[str, str]] = []
        self._gone = gone

    async def set_mark(self, message: str, mark: str) -> None:
        await asyncio.sleep(1)
        self.set.append((message, mark))
        if message in self._gone:
            raise DeliveryImpossible(Code.E_UNDELIVERABLE, "unknown message")

    async def clear_mark(self, message: str, mark: str) -> None:
        await asyncio.sleep(1)
        self.cleared.append((message, mark))


def test_the_first_mark_and_the_newest_one_are_set_and_those_between_are_left_out() -> None:
    async def story() -> None:
        reactions = Reactions()
        async with TaskOwner("test") as owner:
            marks = WantedMarks(reactions.set_mark, reactions.clear_mark, owner)
            marks.want("a", TAKEN)
            await asyncio.sleep(0.5)
            marks.want("a", FAILED)
            marks.want("a", DONE)
        assert reactions.set == [("a", TAKEN), ("a", DONE)]

    run_virtually(story())


def test_people_see_that_a_quick_job_was_taken_before_they_see_that_it_is_done() -> None:
    async def story() -> None:
        reactions = Reactions()
        async with TaskOwner("test") as owner:
            marks = WantedMarks(reactions.set_mark, reactions.clear_mark, owner)
            marks.want("a", TAKEN)
            marks.want("a", DONE)
        assert reactions.set == [("a", TAKEN), ("a", DONE)]

    run_virtually(story())


def test_a_mark_that_is_wanted_twice_is_set_once_and_again_only_after_it_stood() -> None:
    async def story() -> None:
        reactions = Reactions()
        async with TaskOwner("test") as owner:
            marks = WantedMarks(reactions.set_mark, reactions.clear_mark, owner)
            marks.want("a", TAKEN)
            marks.want("a", TAKEN)
            await asyncio.sleep(5)
            assert reactions.set == [("a", TAKEN)]
            marks.want("a", TAKEN)  # after a reconnect: a reaction that stands already does no harm
        assert reactions.set == [("a", TAKEN)] * 2

    run_virtually(story())


def test_a_message_that_is_gone_gets_no_further_mark_and_disturbs_no_other() -> None:
    async def story() -> None:
        reactions = Reactions("gone")
        async with TaskOwner("test") as owner:
            marks = WantedMarks(reactions.set_mark, reactions.clear_mark, owner)
            marks.want("gone", TAKEN)
            marks.want("a", TAKEN)
            await asyncio.sleep(0.5)
            marks.want("gone", DONE)
        assert reactions.set == [("gone", TAKEN), ("a", TAKEN)]

    run_virtually(story())


def test_a_queued_message_that_begins_at_once_is_never_marked_as_queued() -> None:
    async def story() -> None:
        reactions = Reactions()
        async with TaskOwner("test") as owner:
            marks = WantedMarks(reactions.set_mark, reactions.clear_mark, owner)
            marks.want("a", QUEUED)
            marks.want("a", TAKEN)
        assert (reactions.set, reactions.cleared) == ([("a", TAKEN)], [])

    run_virtually(story())


def test_the_marks_before_the_newest_one_go_and_it_stands_before_they_do() -> None:
    async def story() -> None:
        reactions = Reactions()
        async with TaskOwner("test") as owner:
            marks = WantedMarks(reactions.set_mark, reactions.clear_mark, owner)
            marks.want("a", QUEUED)
            await asyncio.sleep(5)
            marks.want("a", TAKEN)
            await asyncio.sleep(1.5)
            assert (reactions.set[-1], reactions.cleared) == (("a", TAKEN), [])
            await asyncio.sleep(5)
            assert reactions.cleared == [("a", QUEUED)]
            marks.want("a", DONE)
        assert reactions.set == [("a", QUEUED), ("a", TAKEN), ("a", DONE)]
        assert reactions.cleared == [("a", QUEUED), ("a", TAKEN)]

    run_virtually(story())


def test_a_mark_that_an_earlier_process_may_have_left_is_removed() -> None:
    async def story() -> None:
        reactions = Reactions()
        async with TaskOwner("test") as owner:
            marks = WantedMarks(reactions.set_mark, reactions.clear_mark, owner)
            marks.want("a", FAILED, may_stand=(TAKEN,))
        assert (reactions.set, reactions.cleared) == ([("a", FAILED)], [("a", TAKEN)])

    run_virtually(story())
