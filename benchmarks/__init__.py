"""Speed and memory, measured beside their floors in the same run. Prints; asserts nothing."""
