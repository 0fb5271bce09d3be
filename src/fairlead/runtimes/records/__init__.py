"""The records that agents' programs keep of their own sessions: found, read within limits, and never changed."""
