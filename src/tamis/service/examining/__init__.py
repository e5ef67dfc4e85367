"""Examiners: processes that check, explain and try filters for a user who waits for the answer."""
