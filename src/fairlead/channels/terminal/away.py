"""What the terminal says of a Fairlead that does not respond. Pure."""

from typing import Literal

from fairlead.api import ServerAway
from fairlead.channels.terminal.options import ServerState
from fairlead.render.words import join_sentences, say

Consequence = Literal["nothing_sent", "job_goes_on", "answer_not_sent", "not_cancelled"]


def describe_away(away: ServerAway, lang: str, consequence: Consequence | None = None) -> str:
    """Which address does not respond and why, and what that means for the person."""
    reason = away.why.rstrip(".")
    sentence = say(lang, "terminal.no_response", url=away.base_url, reason=reason)
    return sentence if consequence is None else join_sentences(sentence, say(lang, f"terminal.{consequence}"))


def describe_server(state: ServerState, lang: str) -> str:
    """What became of the server, at once: not every connection that is lost is lost for a moment."""
    match state:
        case "gone":
            return say(lang, "terminal.stopped")
        case "stopping":
            return say(lang, "terminal.stopping")
        case "up":
            return say(lang, "terminal.connection_lost")
