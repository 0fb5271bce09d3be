"""What every channel needs that sends by itself: an inbox per conversation, a rate limit, retrying, pacing."""
