"""Packing tokens into shards of samples."""
