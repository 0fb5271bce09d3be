"""The command line. Each command is imported on first use, so that `--help` is as fast as click."""
