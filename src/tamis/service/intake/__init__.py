"""The way in of events: bytes of some format → JSON texts → checked at the door → durable on the log."""
