"""Ways to run an agent, one package or module each. They know the ports and nothing of each other."""
