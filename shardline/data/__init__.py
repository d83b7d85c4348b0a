"""The sample that ships with Shardline, and how its tokenizer was trained."""
