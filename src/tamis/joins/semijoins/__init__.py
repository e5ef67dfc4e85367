"""Select-semijoins of two tables kept up with their changes (§3.1)."""
