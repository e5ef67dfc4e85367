"""Rewrites on the way to the normal form: one a file, each keeps the filter's meaning."""
