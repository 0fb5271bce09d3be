"""What each error code means and what to do next, one file per language.

The English sentences are also those of HTTP, of the logs and of the reference.
"""
