"""HTTP API of the service: one file for each group of paths, beside middleware, access checks and shared forms."""
