"""The append-only Merkle log of signed statements."""
