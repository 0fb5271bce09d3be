"""The HTTP channel: a REST API on loopback, with server-sent events, for scripts and for our own terminal."""

from fairlead.channels.http.channel import HttpChannel, PullChannel
from fairlead.channels.http.token import read_or_make_token, read_token

__all__ = ["HttpChannel", "PullChannel", "read_or_make_token", "read_token"]
