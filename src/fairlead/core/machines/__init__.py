"""More than one machine: where a project lies, what the daemon and runners say to each other, and the rules of it."""
