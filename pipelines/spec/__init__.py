"""A dataset's spec: one file a section of specs/NAME.toml, put together in dataset.py."""
