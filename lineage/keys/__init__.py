"""Keys: wrapping them, sealing bytes with them, and who may have one."""
