"""The client of our own HTTP API, and the structs that cross the wire."""

from fairlead.api.client import Client, ServerAway

__all__ = ["Client", "ServerAway"]
