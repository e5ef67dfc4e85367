"""What each subscription costs to match, by what the columnar index does with it."""
