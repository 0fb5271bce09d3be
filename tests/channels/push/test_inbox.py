"""One inbox per conversation: order within one, no waiting between two, and no item that silences the others."""

import asyncio
from collections.abc import Sequence

from fairlead.channels.push.inbox import ConversationInboxes
from fairlead.kit.tasks import TaskOwner
from fairlead.testing.clock import run_virtually


def test_a_conversation_is_handled_in_order_and_does_not_wait_for_another() -> None:
    async def story() -> None:
        handled: list[tuple[str, int, float]] = []
        loop = asyncio.get_running_loop()

        async def handle(conversation: str, seconds: int) -> None:
            await asyncio.sleep(seconds)
            handled.append((conversation, seconds, loop.time()))

        async with TaskOwner("test") as owner:
            inboxes = ConversationInboxes(handle, owner)
            for conversation, seconds in (("slow", 9), ("slow", 1), ("quick", 2), ("quick", 1)):
                inboxes.put(conversation, seconds)
        assert handled == [("quick", 2, 2.0), ("quick", 1, 3.0), ("slow", 9, 9.0), ("slow", 1, 10.0)]

    run_virtually(story())


def test_an_item_that_cannot_be_handled_does_not_silence_its_conversation() -> None:
    async def story() -> None:
        handled: list[str] = []

        async def handle(_conversation: int, item: str) -> None:
            if item == "bad":
                raise ValueError(item)
            handled.append(item)

        async with TaskOwner("test") as owner:
            inboxes = ConversationInboxes(handle, owner)
            for item in ("first", "bad", "last"):
                inboxes.put(7, item)
        assert handled == ["first", "last"]

    run_virtually(story())


def test_an_empty_inbox_is_forgotten_and_the_next_item_opens_a_new_one() -> None:
    async def story() -> None:
        handled: list[str] = []

        async def handle(_conversation: int, item: str) -> None:
            handled.append(item)

        async with TaskOwner("test") as owner:
            inboxes = ConversationInboxes(handle, owner)
            inboxes.put(7, "first")
            await asyncio.sleep(1)
            inboxes.put(7, "second")
        assert handled == ["first", "second"]

    run_virtually(story())


def test_an_item_is_dropped_if_one_that_still_waits_covers_it_but_not_for_the_one_in_work() -> None:
    async def story() -> None:
        handled: list[str] = []

        async def handle(_conversation: int, item: str) -> None:
            await asyncio.sleep(1)
            handled.append(item)

        def is_same(item: str, waiting: Sequence[str]) -> bool:
            return item in waiting

        async with TaskOwner("test") as owner:
            inboxes = ConversationInboxes(handle, owner, is_same)
            for item in ("look", "look", "look", "other", "look"):
                inboxes.put(7, item)
        assert handled == ["look", "look", "other"]

    run_virtually(story())
