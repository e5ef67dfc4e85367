"""Nine ways to tell subscribers what a change of a table means for their joins (Table 1 of the paper)."""
