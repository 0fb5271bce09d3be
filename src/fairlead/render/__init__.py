"""Words for people: pure text in, pure text out. Knows no channel library, no clock and no disk."""
