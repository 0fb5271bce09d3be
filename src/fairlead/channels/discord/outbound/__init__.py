"""From the outbox to Discord: REST calls, messages, threads, webhooks, nonces."""
