"""The HTTP channel: a REST API on loopback, with server-sent events, for scripts and for our own terminal."""
