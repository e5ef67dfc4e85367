"""Operators in the pipeline: how they reach the workers, and how what these learn comes back."""
