"""The HTTP API: one file a group of paths, and beside them what they share."""
