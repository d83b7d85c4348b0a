"""A build: from a dataset's spec and sources to one published version."""
