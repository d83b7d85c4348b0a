"""Personal data and secrets: found, counted, redacted, shown masked."""
