"""Corpora that are token ids already: MDS, Megatron, flat arrays."""
