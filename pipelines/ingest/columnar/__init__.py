"""Formats of columns: Parquet and Arrow, read by row groups and batches."""
