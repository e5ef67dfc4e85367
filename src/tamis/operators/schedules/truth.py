"""What is known of a predicate, and of a subscription, on one event."""

from __future__ import annotations

NOT_ASKED = -1
FALSE = 0
TRUE = 1
UNKNOWN = 2
"""The operator failed: whatever wants the predicate does not match, all else goes on, and nothing is learned of it."""

# Of a subscription: so many predicates open and all others true, or one of these.
DECIDED = 0  # against it, or it was never in question
MATCHED = 65_535
