"""The spine: names, digests, keys, the ledger, the gate and the audit."""
