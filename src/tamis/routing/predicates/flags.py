"""What kernels may conclude from a predicate's bounds, as bits."""

WHOLE = 1  # any value will do: whatever has one satisfies it
RANGES = 2  # its ranges say exactly which values will do
POINT = 4  # one value will do
OPAQUE = 8  # bounds are all that is known of it: a closer look decides
SEVERAL = 16  # it asks for more than one value of a multi-valued attribute, or something of all of them
