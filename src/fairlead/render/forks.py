"""Where a fork is, in words."""

from fairlead.core.forks import FORK_SPACE
from fairlead.core.replies import SessionForkMade
from fairlead.render.words import say


def describe_fork(reply: SessionForkMade, lang: str, at: str = "") -> str:
    """`at` is how the channel names a thread, so that a reader can go there."""
    if not reply.is_here:
        return say(lang, "reply.fork.thread", session=at or reply.session_id, branch=reply.branch)
    back = reply.forked_from.rpartition(":")[2] if f":{FORK_SPACE}:" in reply.forked_from else ""
    return say(lang, "reply.fork.here", session=reply.session_id, branch=reply.branch, back=back)
