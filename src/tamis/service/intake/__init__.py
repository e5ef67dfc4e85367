"""Intake of events: bytes in some format → JSON texts → checked at the door → durable on the log."""
