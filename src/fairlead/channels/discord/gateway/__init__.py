"""The connection to Discord: the client, keeping it connected, registering commands."""
