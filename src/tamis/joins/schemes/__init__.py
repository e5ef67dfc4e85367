"""Nine schemes that tell subscribers how the contents of their joins change (Chandramouli & Yang 2008, Table 1)."""
