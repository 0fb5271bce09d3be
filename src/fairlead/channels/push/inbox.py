"""One inbox per conversation: the items that a channel receives there are handled in order, one after the other.

The channel's callback only puts an item into its inbox, before anything is awaited, so that the order of arrival is the
order of handling. Conversations do not wait for each other. The inboxes do not know what their items are.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from itertools import islice
from typing import Generic, TypeVar

from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log_failure

Conversation = TypeVar("Conversation", bound=Hashable)
Item = TypeVar("Item")


def _is_never_covered(_item: object, _waiting: Sequence[object]) -> bool:
    return False


class ConversationInboxes(Generic[Conversation, Item]):
    """`handle` gets each item with its conversation. `is_covered` may say that an item adds nothing to the items that
    still wait: the inbox then drops it. Items that wait when `owner` ends are lost: the channel catches up on them."""

    def __init__(
        self,
        handle: Callable[[Conversation, Item], Awaitable[None]],
        owner: TaskOwner,
        is_covered: Callable[[Item, Sequence[Item]], bool] = _is_never_covered,
    ) -> None:
        self._handle = handle
        self._owner = owner
        self._is_covered = is_covered
        self._inboxes: dict[Conversation, deque[Item]] = {}

    def put(self, conversation: Conversation, item: Item) -> None:
        inbox = self._inboxes.get(conversation)
        if inbox is None:
            self._inboxes[conversation] = deque((item,))
            self._owner.start(self._consume(conversation), name=f"inbox {conversation}")
            return
        # The first item is being handled: its handling may be past the point where it would have covered this one.
        waiting = tuple(islice(inbox, 1, None))
        if not self._is_covered(item, waiting):
            inbox.append(item)

    async def _consume(self, conversation: Conversation) -> None:
        """An inbox lives until it is empty; the next item opens a new one."""
        inbox = self._inboxes[conversation]
        try:
            while inbox:
                await self._handle_one(conversation, inbox[0])
                inbox.popleft()
        finally:
            del self._inboxes[conversation]

    async def _handle_one(self, conversation: Conversation, item: Item) -> None:
        try:
            await self._handle(conversation, item)
        except Exception as fault:  # one item that cannot be handled must not silence its conversation
            log_failure("a received item was not handled", fault, conversation=str(conversation))
