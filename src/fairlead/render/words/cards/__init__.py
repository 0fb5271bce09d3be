"""What the card of a turn says."""
