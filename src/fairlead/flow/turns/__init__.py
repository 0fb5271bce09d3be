"""From a queued job to the facts that end it: who runs next, the turn itself, questions, cancellation."""
