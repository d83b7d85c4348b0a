"""Formats of records in a row: JSON Lines, JSON, CSV and TSV."""
