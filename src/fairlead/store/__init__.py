"""Journal, snapshot and blobs on disk."""
