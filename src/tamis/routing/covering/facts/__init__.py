"""Conjunctions over codes as facts about attributes, in one form: what covering is decided on for many filters."""
