"""The words of the console in the browser."""
