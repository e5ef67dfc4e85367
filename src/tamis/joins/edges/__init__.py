"""An edge of the join graph: two tables, the semijoins between them, and changes run through both."""
