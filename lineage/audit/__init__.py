"""Questions about versions, documents and runs, and their proofs."""
