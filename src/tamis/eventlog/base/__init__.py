"""Parts of every event log: the protocol, records and receipts, idempotency keys, errors."""
