"""What is done to data: pure functions on Arrow tables."""
