"""What every channel needs that sends by itself: inboxes, a rate limit, retrying, marks, the status of a job."""
