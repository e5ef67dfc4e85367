"""Examiners: processes that look at strangers' filters, so that the one that answers never stands still for it."""
