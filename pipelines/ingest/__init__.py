"""Reading source files: every record is a document or a quarantine row."""
