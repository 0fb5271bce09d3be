"""What would serve any program: framing, durable files, processes and tasks. No domain words."""
