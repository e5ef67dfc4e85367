"""Base of all matchers: the `Matcher` protocol and its results, event statistics, and growing flat arrays."""
