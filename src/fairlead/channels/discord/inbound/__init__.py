"""From what Discord sends to what the gate takes: conversations, messages, attachments, catching up."""
