"""Why a job waits, or that the machine which it runs on is away, in words. Pure but for this terminal's time zone."""

from fairlead.api import wire as w
from fairlead.channels.terminal.local_time import local_time
from fairlead.render.words import say


def describe_wait(moved: w.Moved, lang: str) -> str:
    """Why a job waits that nothing runs before, or that the machine of one that runs is away; empty for any other."""
    since = local_time(moved.machine_away_since) if moved.machine_away_since else ""
    if moved.held == "machine_away":
        return say(lang, "chat.machine_away", machine=moved.machine, since=since)
    if moved.held:
        return say(lang, f"chat.{moved.held}")
    return say(lang, "chat.machine_lost", machine=moved.machine, since=since) if since else ""
