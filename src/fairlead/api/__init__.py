"""The client of our own HTTP API, and the structs that cross the wire."""

from fairlead.api.client import Client, ServerAway, error_in

__all__ = ["Client", "ServerAway", "error_in"]
