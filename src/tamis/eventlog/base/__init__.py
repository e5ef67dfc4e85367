"""Protocol of every event log, with its records, receipts, errors and idempotency keys."""
