"""Ways to run an agent. Each adapter is three steps: wire structs, pure translation, process."""
