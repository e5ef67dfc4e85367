"""A table of subscriptions that changes while streams run: versions on disk, and who uses which."""
