"""The training feed: samples in the order of a run."""
