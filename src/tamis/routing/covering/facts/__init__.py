"""Normalised facts of conjunctions over codes: what covering among many filters is decided on."""
