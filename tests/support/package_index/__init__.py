"""Packages that a test makes, and indexes on loopback that serve them: npm's, PyPI's and an ACP registry's."""
