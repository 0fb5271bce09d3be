"""The handlers of all commands: each is written once and serves every channel."""
