"""Events from outside, on their way in."""
