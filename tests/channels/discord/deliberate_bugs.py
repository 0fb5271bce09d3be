"""`fairlead` with a bug that is put in on purpose: `python -m tests.channels.discord.deliberate_bugs NAME up`.

A bug replaces one small part of the Discord channel; the product has no switch for it."""

import sys
from collections.abc import Callable
from typing import Any

from fairlead.channels.discord.commands.runner import CommandRunner
from fairlead.channels.discord.inbound.message_handler import MessageHandler
from fairlead.channels.discord.inbound.missed_messages import MissedMessages
from fairlead.channels.discord.inbound.untold_refusals import UntoldRefusals
from fairlead.channels.discord.outbound.api_ban import ApiBan
from fairlead.channels.discord.outbound.other_daemons import OtherDaemons
from fairlead.cli.main import main
from fairlead.flow.queries.view import FlowView

Bug = Callable[[], None]
BUGS: dict[str, Bug] = {}


def bug(put_in: Bug) -> Bug:
    BUGS[put_in.__name__] = put_in
    return put_in


async def nothing(*_given: Any, **_more: Any) -> None:
    pass


@bug
def serve_whoever_else_serves() -> None:
    OtherDaemons._compare = lambda self, rank: False  # type: ignore[method-assign,assignment]
    run_what_the_bot_has_answered()  # else a daemon that is a moment later finds the answer of the other one


@bug
def take_what_was_said_before_the_founding() -> None:
    FlowView.founding_time = ""  # type: ignore[method-assign,assignment]


@bug
def run_what_the_bot_has_answered() -> None:
    MissedMessages._skip_answered = nothing  # type: ignore[method-assign,assignment]


@bug
def refuse_what_was_missed() -> None:
    FlowView.has_room = lambda self, conversation, session_key: True  # type: ignore[method-assign,assignment]


@bug
def leave_out_in_silence() -> None:
    MessageHandler.tell_left_out = nothing  # type: ignore[method-assign,assignment]


@bug
def tell_no_refusal_after_a_kill() -> None:
    UntoldRefusals.tell_all = nothing  # type: ignore[method-assign,assignment]


@bug
def send_into_a_ban() -> None:
    ApiBan.remaining_sec = lambda self: 0.0  # type: ignore[method-assign,assignment]


@bug
def reply_to_a_command_once() -> None:
    show = CommandRunner._show

    async def once(self: CommandRunner, *given: Any) -> None:
        self.rest.until_done = self.rest.once  # type: ignore[method-assign,assignment]
        await show(self, *given)

    CommandRunner._show = once  # type: ignore[method-assign]


if __name__ == "__main__":
    BUGS[sys.argv.pop(1)]()
    main()
