"""A runner: the agents of one machine, for a daemon on another one. Its journal decides what it has taken and done."""
