"""Examining: a filter that somebody wrote, on events that somebody brought, answered while they wait."""
