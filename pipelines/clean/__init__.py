"""Cleaning: records become documents, each with the rule that judged it."""
