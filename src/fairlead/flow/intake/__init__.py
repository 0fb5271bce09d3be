"""The messages of people, on their way into the journal."""
