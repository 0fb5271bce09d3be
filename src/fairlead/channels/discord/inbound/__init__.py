"""From what Discord sends to what the gate takes: places, messages, attachments, catching up."""
