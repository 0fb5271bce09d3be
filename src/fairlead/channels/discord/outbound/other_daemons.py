"""Another Fairlead on the same token: found before anything is answered twice, and only one of the two goes on.

Every process, before it takes anything from Discord, posts a silent message to the owner (a *check*) and deletes it
soon after. All daemons on the token know it by its nonce, and the id of this message is the rank of its process:
Discord makes the ids, so no two clocks have to agree. A daemon that hears of a later rank than its own answers with a
*claim*; one that hears of an earlier rank leaves Discord, and checks again after a while.

    nonce of a check   state(4) ! instance(4)
    nonce of a claim   state(4) ! instance(4) rank(13) number(2)

Rank and number are in base 36: Discord takes nonces of at most 25 characters, and shows a repeated one to nobody.
"""

import asyncio
import secrets
from typing import Any, Final

import discord
from discord.utils import time_snowflake, utcnow

from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.discord.outbound.sent_nonces import PREFIX_LENGTH
from fairlead.channels.push.rate_limit import Urgency
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log
from fairlead.ports import ChannelAway, OutcomeUnknown, View
from fairlead.render.words import say

LEAST_WAIT_SEC: Final = 0.5
MOST_WAIT_SEC: Final = 3.0
ROUND_TRIPS: Final = 4
"""A claim needs two ways through Discord; so many round trips of our own check are waited for it."""

MOST_ATTEMPTS: Final = 3
ATTEMPT_GAP_SEC: Final = 0.5
CLAIM_GAP_SEC: Final = 60.0
_INSTANCE: Final = 4
_RANK: Final = 13
_MARK: Final = "!"
_TEXT: Final = "🔎"


class OtherDaemons:
    """`owner_id` is the person whose direct messages carry the checks. `must_leave` is set when another daemon has an
    earlier rank."""

    def __init__(self, rest: RestCalls, view: View, owner: TaskOwner, *, owner_id: str, language: str) -> None:
        self._rest = rest
        self._owner = owner
        self._owner_id = owner_id
        self._language = language
        self._prefix = view.state_id[:PREFIX_LENGTH]
        self._check = self._new_check()
        self._rank: int | None = None
        self._decided: asyncio.Future[bool] | None = None
        self._claimed_at = -CLAIM_GAP_SEC
        self._claims = 0
        self.must_leave = asyncio.Event()

    def _new_check(self) -> str:
        return f"{self._prefix}{_MARK}{secrets.token_hex(_INSTANCE // 2)}"

    def begin(self) -> None:
        """For a new gateway session. A process that was alone before stays so: a newer one would have asked it."""
        if self._decided is None:
            self._decided = asyncio.get_running_loop().create_future()
            self._owner.start(self._look_for_others(self._decided), name="other daemons")

    async def may_serve(self) -> bool:
        """Waits for the first check of this process; after that it returns at once."""
        return self._decided is not None and await asyncio.shield(self._decided)

    def hear(self, nonce: str | None, message_id: int, channel_id: int) -> None:
        """A message of the bot's own, as the gateway shows it."""
        if nonce is None or nonce.startswith(self._check):
            if nonce == self._check:
                self._rank = message_id
            return
        head, mark, tail = nonce[:PREFIX_LENGTH], nonce[PREFIX_LENGTH : PREFIX_LENGTH + 1], nonce[PREFIX_LENGTH + 1 :]
        if mark == _MARK:
            rank = tail[_INSTANCE : _INSTANCE + _RANK]
            is_later = self._compare(int(rank, 36) if rank else message_id)
            if is_later and not rank:  # a process that exits may not get to delete its check
                self._owner.start(self._delete_check(channel_id, message_id), name="end of a check")
        elif head != self._prefix:
            self._claim()  # the other daemon sends messages, so it serves people: one of the two has to leave

    def leave(self) -> None:
        """The connection has ended because of `must_leave`: the next session checks again."""
        self._decided = None
        self._rank = None
        self._check = self._new_check()
        self.must_leave.clear()

    def _compare(self, rank: int) -> bool:
        """True if the other daemon is the later one."""
        if self._rank is not None and self._rank < rank:
            self._claim(at_once=True)
            return True
        log.error(
            "discord",
            message="Another Fairlead uses this bot's token. This one ignores Discord and checks again "
            "in ten minutes: stop one of them, or give each its own bot.",
        )
        if self._decided is not None and not self._decided.done():
            self._decided.set_result(False)
        self.must_leave.set()
        return False

    def _claim(self, *, at_once: bool = False) -> None:
        now = asyncio.get_running_loop().time()
        if self._rank is None or (now - self._claimed_at < CLAIM_GAP_SEC and not at_once):
            return
        self._claimed_at = now
        self._claims += 1
        is_first = self._claims == 1
        text = say(self._language, "status.other_fairlead") if is_first else _TEXT
        nonce = f"{self._check}{_base36(self._rank, _RANK)}{_base36(self._claims % 1296, 2)}"
        log.error("discord", message="Another Fairlead was started with this bot's token. This one keeps running.")
        self._owner.start(self._post_claim(text, nonce, is_kept=is_first), name="claim")

    async def _post_claim(self, text: str, nonce: str, *, is_kept: bool) -> None:
        try:
            channel_id, message_id = await self._post(text, nonce)
            if not is_kept:
                await self._delete(channel_id, message_id)
        except DELIVERY_ERRORS as failure:
            log.warning("another daemon was not told", message=repr(failure))

    async def _look_for_others(self, decided: asyncio.Future[bool]) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            channel_id, message_id = await self._post(_TEXT, self._check)
        except DELIVERY_ERRORS as failure:
            log.info("other daemons were not asked", message=repr(failure))
            self._rank = time_snowflake(utcnow())
        else:
            self._rank = self._rank or message_id
            await asyncio.sleep(min(MOST_WAIT_SEC, max(LEAST_WAIT_SEC, ROUND_TRIPS * (loop.time() - began))))
            self._owner.start(self._delete_check(channel_id, message_id), name="end of the check")
        if not decided.done():
            decided.set_result(True)

    async def _delete_check(self, channel_id: int, message_id: int) -> None:
        try:
            await self._delete(channel_id, message_id)
        except DELIVERY_ERRORS as failure:
            log.info("a check stayed", message=repr(failure))

    async def _post(self, text: str, nonce: str) -> tuple[int, int]:
        """Silent. Who cannot reach the owner in a few attempts serves without having asked."""

        async def post(client: discord.Client) -> tuple[int, int]:
            opened: Any = await client.http.start_private_message(int(self._owner_id))
            message = await client.get_partial_messageable(int(opened["id"])).send(text, nonce=nonce, silent=True)
            return int(opened["id"]), message.id

        for _ in range(MOST_ATTEMPTS - 1):
            try:
                return await self._rest.once(Urgency.ANSWER, post)
            except (ChannelAway, OutcomeUnknown):
                await asyncio.sleep(ATTEMPT_GAP_SEC)
        return await self._rest.once(Urgency.ANSWER, post)

    async def _delete(self, channel_id: int, message_id: int) -> None:
        await self._rest.until_done(
            Urgency.FINAL_STATUS, lambda client: client.http.delete_message(channel_id, message_id, reason=None)
        )


def _base36(number: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        number, digit = divmod(number, 36)
        digits = f"{'0123456789abcdefghijklmnopqrstuvwxyz'[digit]}{digits}"
    return digits
