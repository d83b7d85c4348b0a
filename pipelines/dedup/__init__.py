"""Resolving documents: occurrences, duplicates, what is new and what is gone."""
