"""The status message of one job over a long life, in virtual time: on a board that only keeps what it is told."""

import asyncio
import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import aiohttp

from fairlead.channels.discord.live.status_message import POST_AGAIN_AFTER_SEC, StatusMessage
from fairlead.channels.discord.outbound.rest import CALLS_PER_SECOND, CurrentClient, RestCalls
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.push.job_status import JobStatus, StatusContent, TimedStatus
from fairlead.channels.push.rate_limit import RateLimit, Urgency
from fairlead.core.conversation import ConversationRef
from fairlead.core.engine import TextDelta
from fairlead.core.views import JobView
from fairlead.testing.clock import run_virtually

ANEW = POST_AGAIN_AFTER_SEC


class Board:
    """As much of discord.py's client as a status message touches; what stands, and when it was put there."""

    def __init__(self) -> None:
        self.posted: dict[int, float] = {}
        self.edited: list[tuple[int, float]] = []
        self.standing: dict[int, str] = {}
        self.nonces: list[str] = []
        self.sent_nonces = SentNonces("abcd")
        self.current = CurrentClient(self)  # type: ignore[arg-type]
        self.lost_replies = self.failing_deletions = 0
        self.slow_sec = 0.0
        self.http = SimpleNamespace(delete_message=self._delete)

    def get_partial_messageable(self, _channel_id: int) -> Any:
        return SimpleNamespace(send=self._send, get_partial_message=self._message)

    async def _send(self, text: str, *, nonce: str, silent: bool) -> Any:
        assert silent, "a status rings no phone"
        await asyncio.sleep(self.slow_sec)
        message_id = len(self.posted) + 1
        self.posted[message_id] = asyncio.get_running_loop().time()
        self.standing[message_id] = text
        self.nonces.append(nonce)
        self.sent_nonces.take_echo(nonce, message_id)
        if self.lost_replies:
            self.lost_replies -= 1
            raise aiohttp.ServerDisconnectedError
        return SimpleNamespace(id=message_id)

    def _message(self, message_id: int) -> Any:
        async def edit(*, content: str) -> None:
            assert message_id in self.standing, "an edit of a message that was taken away"
            self.standing[message_id] = content
            self.edited.append((message_id, asyncio.get_running_loop().time()))

        return SimpleNamespace(edit=edit)

    async def _delete(self, _channel_id: int, message_id: int, *, reason: str | None) -> None:
        assert reason is None
        if self.failing_deletions:
            self.failing_deletions -= 1
            raise aiohttp.ServerDisconnectedError
        del self.standing[message_id]


JOB = JobView(
    job_id="job_20260105_0001",
    session_key="agent:fairlead:user:1",
    conversation=ConversationRef("discord", "main", "7"),
    message_id="9",
    person="1",
    state="running",
    attempt=1,
    enqueued_at="2026-01-05T08:00:00.000Z",
)


def a_message(board: Board, is_asking: Callable[[], bool] = lambda: False) -> StatusMessage:
    rest = RestCalls(RateLimit(CALLS_PER_SECOND), board.current)
    return StatusMessage(JOB, rest, board.sent_nonces, lang="en", is_asking=is_asking)


def a_status(board: Board) -> JobStatus:
    return JobStatus(JOB, a_message(board), lang="en", interval=lambda: 1.2, tool_aware=True)


def test_a_status_message_older_than_fifty_minutes_is_posted_again_and_the_old_one_goes() -> None:
    async def story() -> None:
        board = Board()
        status = a_status(board)
        shown = asyncio.ensure_future(status.show())
        await asyncio.sleep(2.5 * ANEW)
        assert len(board.posted) == 3
        assert list(board.standing) == [3], "one status message at a time"
        assert len(set(board.nonces)) == 3, "a new message, not the old one once more"
        times = list(board.posted.values())
        assert all(ANEW < later - earlier <= ANEW + 16 for earlier, later in itertools.pairwise(times))
        assert all(at - board.posted[message_id] <= ANEW for message_id, at in board.edited)
        status.set_state("success")
        await shown
        assert board.standing == {}

    run_virtually(story())


def test_a_short_job_leaves_no_status_message() -> None:
    async def story() -> None:
        board = Board()
        status = a_status(board)
        shown = asyncio.ensure_future(status.show())
        await asyncio.sleep(0.5)
        status.set_state("success")
        await shown
        assert board.posted == {}

    run_virtually(story())


def test_six_hours_without_discord_do_not_leave_a_job_looking_as_if_it_ran() -> None:
    async def story() -> None:
        board = Board()
        status = a_status(board)
        shown = asyncio.ensure_future(status.show())
        await asyncio.sleep(2)
        board.current.client = None
        status.set_state("success")
        await asyncio.sleep(6 * 3600)
        board.current.client = board  # type: ignore[assignment]
        await shown
        assert board.standing == {}

    run_virtually(story())


def test_an_outdated_status_that_could_not_be_taken_away_at_once_goes_later() -> None:
    async def story() -> None:
        board = Board()
        board.failing_deletions = 2
        status = a_status(board)
        shown = asyncio.ensure_future(status.show())
        await asyncio.sleep(1.5 * ANEW)
        assert list(board.standing) == [2]
        board.failing_deletions = 2
        status.set_state("success")
        await shown
        assert board.standing == {}

    run_virtually(story())


def test_no_status_is_posted_below_an_open_question_and_a_question_waits_for_the_post_that_is_under_way() -> None:
    async def story() -> None:
        board = Board()
        questions: list[str] = []
        message = a_message(board, is_asking=lambda: bool(questions))
        questions.append("May I?")
        assert await message.draw(lambda: TimedStatus(StatusContent("job_20260105_0001", "waiting"), 1.0))
        assert board.posted == {}
        questions.clear()
        board.slow_sec = 1.0
        drawing = asyncio.ensure_future(
            message.draw(lambda: TimedStatus(StatusContent("job_20260105_0001", "running"), 2.0))
        )
        await asyncio.sleep(0.5)
        questions.append("May I?")
        await message.until_posted()
        assert len(board.posted) == 1
        assert await drawing

    run_virtually(story())


def test_a_status_posted_again_whose_reply_was_lost_is_the_one_that_is_edited() -> None:
    """The nonce is known to Discord for minutes only, so a second post much later would stand beside the first."""

    async def story() -> None:
        board = Board()
        status = a_status(board)
        shown = asyncio.ensure_future(status.show())
        await asyncio.sleep(2)
        board.lost_replies = 1
        await asyncio.sleep(1.5 * ANEW)
        status.set_state("success")
        await shown
        assert board.standing == {}
        assert len(board.posted) == 2

    run_virtually(story())


def test_a_job_that_ends_while_its_edit_waits_for_its_turn_is_not_edited_once_more() -> None:
    async def story() -> None:
        board = Board()
        rate_limit = RateLimit(1, at_once=1)
        rest = RestCalls(rate_limit, board.current)
        message = StatusMessage(JOB, rest, board.sent_nonces, lang="en")
        status = JobStatus(JOB, message, lang="en", interval=lambda: 1.2, tool_aware=True)
        shown = asyncio.ensure_future(status.show())
        await asyncio.sleep(3)
        assert list(board.standing) == [1]
        waiting = [asyncio.ensure_future(rate_limit.acquire(Urgency.MARK)) for _ in range(3)]
        await asyncio.sleep(0.1)
        status.add_event(TextDelta(text="news"))
        await asyncio.sleep(0.1)
        status.set_state("success")
        await asyncio.gather(shown, *waiting)
        assert (board.edited, board.standing) == ([], {})

    run_virtually(story())
