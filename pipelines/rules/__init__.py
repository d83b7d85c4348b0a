"""Rules: thresholds on signals; the first rule that a document fails drops it."""
