"""The terminal channel: `fairlead chat`. It is a client of the HTTP API and knows nothing else of Fairlead."""
