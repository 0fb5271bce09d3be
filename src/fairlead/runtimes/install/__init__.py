"""Installing agents that speak ACP, once and pinned, below the state directory. Nothing here runs during a turn."""
