"""The report of a version: one page that stands by itself."""
