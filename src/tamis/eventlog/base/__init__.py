"""The protocol of every event log, its records, receipts and errors, and idempotency keys."""
